from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class Base(object):
    def client(self):
        raise NotImplementedError
    def send(self):
        self.client().flush()  # X
class K(Base):
    def client(self):
        return Producer({})
@app.route('/')
def a():
    K().send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
