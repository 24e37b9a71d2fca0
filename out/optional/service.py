from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from typing import Optional
from flask import Flask
app = Flask(__name__)
bus: Optional[Producer] = None
def init():
    global bus
    bus = Producer({})
@app.route('/')
def a():
    bus.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
