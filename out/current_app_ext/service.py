from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, current_app
app = Flask(__name__)
app.extensions['kafka'] = Producer({})
@app.route('/')
def a():
    current_app.extensions['kafka'].flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
