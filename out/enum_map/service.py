from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class Kafka:
    def send(self):
        Producer({}).flush()  # X
class Null:
    def send(self):
        pass
BACKENDS = {'kafka': Kafka, 'null': Null}
backend = BACKENDS[app.config['B']]()
@app.route('/')
def a():
    backend.send()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
