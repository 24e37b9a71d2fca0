from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class Base(object):
    client = None
    def send(self):
        self.client.flush()  # X
class K(Base):
    client = Producer({})
@app.route('/')
def a():
    K().send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
