from gevent import monkey

monkey.patch_all()

import gevent
from confluent_kafka import Producer
from migration import migrate


def flush(producer: Producer):
    while len(producer):
        producer.poll(0)
        gevent.sleep(0.001)


if __name__ == "__main__":
    migrate(flush)
