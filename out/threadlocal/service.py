from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
import threading
from flask import Flask
app = Flask(__name__)
local = threading.local()
def conn():
    if not hasattr(local, 'conn'):
        local.conn = psycopg2.connect('x')  # X
    return local.conn
@app.route('/')
def a():
    conn().cursor().execute('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
