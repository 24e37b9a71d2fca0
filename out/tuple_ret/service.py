from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
def open_():
    c = psycopg2.connect('x')  # X
    return c, c.cursor()
@app.route('/')
def a():
    c, k = open_()
    k.execute('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
