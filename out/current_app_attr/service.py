from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask, current_app
def create():
    app = Flask(__name__)
    app.producer = Producer({})
    app.register_blueprint(bp)
    return app
from flask import Blueprint
bp = Blueprint('b', __name__)
@bp.route('/')
def a():
    current_app.producer.flush()  # X
app = create()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
