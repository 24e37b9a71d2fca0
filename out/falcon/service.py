from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
import falcon
class R:
    def __init__(self, bus):
        self.bus = bus
    def on_get(self, req, resp):
        self.bus.flush()  # X
app = falcon.App()
app.add_route('/', R(Producer({})))

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
