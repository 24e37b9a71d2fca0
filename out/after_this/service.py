from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, after_this_request
app = Flask(__name__)
p = Producer({})
@app.route('/')
def a():
    @after_this_request
    def f(r):
        p.flush()  # X
        return r

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
