from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
def make(kind):
    match kind:
        case 'kafka':
            return Producer({})
        case _:
            return None
@app.route('/')
def a():
    make('kafka').flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
