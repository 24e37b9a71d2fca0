from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from flask import Flask
app = Flask(__name__)
class P(Producer):
    def flush(self, *a):
        return super().flush()  # X
p = P({})
@app.route('/')
def a():
    p.flush()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
