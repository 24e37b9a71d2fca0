from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
from flask_socketio import SocketIO, Namespace
app = Flask(__name__)
sio = SocketIO(app, async_mode='gevent')
class N(Namespace):
    def on_msg(self, d):
        p.flush()  # X
p = Producer({})
sio.on_namespace(N('/'))

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
