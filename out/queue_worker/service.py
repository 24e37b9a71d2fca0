from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
import gevent
from gevent.queue import Queue
q = Queue()
def worker():
    while True:
        p = q.get()
        p.flush()  # X
gevent.spawn(worker)
q.put(Producer({}))

import gevent
gevent.wait()
