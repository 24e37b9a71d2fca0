from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
class Kafka:
    def __init__(self, app=None):
        self.p = None
        if app is not None:
            self.init_app(app)
    def init_app(self, app):
        self.p = Producer({})
    def send(self):
        self.p.flush()  # X
kafka = Kafka()
app = Flask(__name__)
kafka.init_app(app)
@app.route('/')
def a():
    kafka.send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
