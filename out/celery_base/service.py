from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from celery import Celery, Task
app = Celery()
class DBTask(Task):
    _db = None
    @property
    def db(self):
        if self._db is None:
            self._db = psycopg2.connect('x')  # X
        return self._db
@app.task(base=DBTask, bind=True)
def f(self):
    self.db.commit()  # X
