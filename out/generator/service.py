from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
def rows():
    c = psycopg2.connect('x')  # X
    k = c.cursor()
    k.execute('x')  # X
    yield from k
@app.route('/')
def a():
    return list(rows())

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
