from gevent import monkey; monkey.patch_all()
from confluent_kafka import Producer
import psycopg2
from gevent.pool import Pool
ps = [Producer({}), Producer({})]
def f(p):
    p.flush()  # X
Pool(2).map(f, ps)

import gevent
gevent.wait()
