from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from functools import cached_property
from flask import Flask
app = Flask(__name__)
class B:
    @cached_property
    def p(self):
        return Producer({})
b = B()
@app.route('/')
def a():
    b.p.flush()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
