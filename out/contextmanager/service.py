from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from contextlib import contextmanager
from flask import Flask
app = Flask(__name__)
@contextmanager
def cur():
    c = psycopg2.connect('x')  # X
    try:
        yield c.cursor()
    finally:
        c.close()
@app.route('/')
def a():
    with cur() as k:
        k.execute('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
