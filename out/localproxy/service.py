from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, g
from werkzeug.local import LocalProxy
app = Flask(__name__)
def get_p():
    if 'p' not in g:
        g.p = Producer({})
    return g.p
producer = LocalProxy(get_p)
@app.route('/')
def a():
    producer.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
