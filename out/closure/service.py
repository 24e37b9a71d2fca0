from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
def create():
    app = Flask(__name__)
    p = Producer({})
    @app.route('/')
    def a():
        p.flush()  # X
    return app
app = create()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
