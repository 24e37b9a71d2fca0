from gevent import monkey

monkey.patch_all()

from confluent_kafka import Producer
from migration import migrate


def flush(producer: Producer):
    producer.flush()


if __name__ == "__main__":
    migrate(flush)
