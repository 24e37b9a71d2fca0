from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from gevent import Greenlet
class W(Greenlet):
    def __init__(self, p):
        super().__init__()
        self.p = p
    def _run(self):
        self.p.flush()  # X
W(Producer({})).start()

import gevent
gevent.wait()
