from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from psycopg2.pool import ThreadedConnectionPool
from flask import Flask
app = Flask(__name__)
pool = ThreadedConnectionPool(1, 2, 'x')
@app.route('/')
def a():
    c = pool.getconn()  # X
    c.cursor().execute('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
