from gevent import monkey

monkey.patch_all()

import gevent
from confluent_kafka import Consumer, Producer

consumer = Consumer({"bootstrap.servers": "kafka:9092", "group.id": "orders"})


class Orders:
    def __init__(self):
        self.producer = Producer({"bootstrap.servers": "kafka:9092"})

    def run(self):
        while True:
            message = consumer.poll(timeout=1.0)
            if message is None:
                continue
            self.producer.produce("done", message.value())
            self.producer.flush()


gevent.spawn(Orders().run).join()
