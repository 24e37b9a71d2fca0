from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from functools import wraps
from flask import Flask
app = Flask(__name__)
def with_db(f):
    @wraps(f)
    def inner(*a, **k):
        c = psycopg2.connect('x')  # X
        return f(c, *a, **k)
    return inner
@app.route('/')
@with_db
def a(db):
    db.commit()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
