from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class A: pass
class S:
    def __init__(self):
        self.clients = A()
        self.clients.bus = Producer({})
s = S()
@app.route('/')
def a():
    s.clients.bus.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
