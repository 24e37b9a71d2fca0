from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
import importlib
from flask import Flask
app = Flask(__name__)
ps = importlib.import_module('psycopg2')
@app.route('/')
def a():
    ps.connect('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
