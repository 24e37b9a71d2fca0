from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class Bus:
    _inst = None
    @classmethod
    def instance(cls):
        if not cls._inst:
            cls._inst = cls()
        return cls._inst
    def __init__(self):
        self.p = Producer({})
@app.route('/')
def a():
    Bus.instance().p.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
