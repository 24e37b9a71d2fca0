from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class SendMixin(object):
    def send(self):
        self.producer.flush()  # X
class K(SendMixin):
    def __init__(self):
        self.producer = Producer({})
@app.route('/')
def a():
    K().send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
