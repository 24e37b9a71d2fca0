from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class R:
    def conn(self):
        if not hasattr(self, '_c'):
            setattr(self, '_c', psycopg2.connect('x'))  # X
        return self._c
@app.route('/')
def a():
    R().conn().commit()  # X

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
