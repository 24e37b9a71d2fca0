"""Sends a mail for each order that comes from Kafka."""

from gevent import monkey

monkey.patch_all()

import os
import smtplib

import gevent
from confluent_kafka import Consumer


def consume():
    consumer = Consumer({"bootstrap.servers": os.environ.get("KAFKA", "localhost:9092"), "group.id": "mail"})
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        gevent.spawn(send_mail, message.value())


def send_mail(order):
    with smtplib.SMTP("localhost") as server:
        server.sendmail("shop@localhost", ["orders@localhost"], order)


if __name__ == "__main__":
    gevent.spawn(consume).join()
