from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
from flask_injector import FlaskInjector
from injector import inject, singleton
app = Flask(__name__)
class Bus:
    def __init__(self):
        self.p = Producer({})
    def send(self):
        self.p.flush()  # X
@inject
@app.route('/')
def a(bus: Bus):
    bus.send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
