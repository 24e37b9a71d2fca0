from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
from flask_restful import Api, Resource
app = Flask(__name__)
api = Api(app)
class R(Resource):
    def __init__(self, bus):
        self.bus = bus
    def get(self):
        self.bus.flush()  # X
api.add_resource(R, '/', resource_class_kwargs={'bus': Producer({})})

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
