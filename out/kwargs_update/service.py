from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class Deps:
    def __init__(self, **kw):
        self.__dict__.update(kw)
deps = Deps(bus=Producer({}))
@app.route('/')
def a():
    deps.bus.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
