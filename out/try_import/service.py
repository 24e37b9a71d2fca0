from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
try:
    import psycopg2 as db
except ImportError:
    import pymysql as db
app = Flask(__name__)
@app.route('/')
def a():
    db.connect('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
