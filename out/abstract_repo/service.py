from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
import abc
from flask import Flask
app = Flask(__name__)
class Repo(abc.ABC):
    @abc.abstractmethod
    def save(self, x): ...
class PgRepo(Repo):
    def __init__(self, conn):
        self.conn = conn
    def save(self, x):
        self.conn.cursor().execute('x')  # X
class Service:
    def __init__(self, repo: Repo):
        self.repo = repo
    def do(self):
        self.repo.save(1)
svc = Service(PgRepo(psycopg2.connect('x')))
@app.route('/')
def a():
    svc.do()

if __name__ == '__main__':
    from gevent.pywsgi import WSGIServer
    WSGIServer(('', 8000), app).serve_forever()
