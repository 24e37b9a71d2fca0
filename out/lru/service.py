from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from functools import lru_cache
from flask import Flask
app = Flask(__name__)
@lru_cache(maxsize=None)
def client():
    return Producer({})
@app.route('/')
def a():
    client().flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
