from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from functools import partial
from flask import Flask
app = Flask(__name__)
def send(p, x):
    p.flush()  # X
send = partial(send, Producer({}))
@app.route('/')
def a():
    send(1)

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
