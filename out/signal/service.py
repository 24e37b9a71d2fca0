from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, request_finished
app = Flask(__name__)
p = Producer({})
@request_finished.connect
def f(sender, **k):
    p.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
