from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, g
app = Flask(__name__)
def db():
    c = getattr(g, '_db', None)
    if c is None:
        c = g._db = psycopg2.connect('x')  # X
    return c
@app.route('/')
def a():
    db().commit()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
