from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class B:
    P = Producer({})
    @staticmethod
    def send():
        B.P.flush()  # X
@app.route('/')
def a():
    B.send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
