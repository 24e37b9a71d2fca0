from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, g
app = Flask(__name__)
@app.before_request
def b():
    g.db = psycopg2.connect('x')  # X
@app.route('/')
def a():
    g.db.commit()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
