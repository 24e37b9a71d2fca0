from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class Db:
    def __enter__(self):
        self.c = psycopg2.connect('x')  # X
        return self.c.cursor()
    def __exit__(self, *a):
        self.c.commit()  # X
@app.route('/')
def a():
    with Db() as k:
        k.execute('x')  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
