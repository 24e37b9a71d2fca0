from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
CLIENTS = {}
def get(name):
    if name not in CLIENTS:
        CLIENTS[name] = Producer({})
    return CLIENTS[name]
@app.route('/')
def a():
    get('x').flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
