"""Events of the shop are sent to Kafka."""

import os

from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": os.environ.get("KAFKA", "localhost:9092"), "log_level": 0})


def publish(topic, body):
    producer.produce(topic, body)
    producer.flush(2)
