from gevent import monkey

monkey.patch_all()

import fcntl
import hashlib
import os
import sqlite3
import subprocess
import time

import gevent
import psycopg2
from confluent_kafka import Consumer, Producer
from surroundings import DATABASE, LOCK, NOWHERE, SILENT, report, watched

KAFKA = {"bootstrap.servers": NOWHERE, "log_level": 0}
consumer = Consumer({**KAFKA, "group.id": "compared"})
producer = Producer(KAFKA)
database = sqlite3.connect(DATABASE, timeout=0.5)


def blocks_kafka_poll():
    consumer.poll(0.5)  # blocks


def blocks_kafka_flush():
    producer.produce("orders", b"1")
    producer.flush(0.5)  # blocks


def blocks_postgres_connect():
    try:
        psycopg2.connect(host="127.0.0.1", port=SILENT, connect_timeout=2)  # blocks
    except psycopg2.OperationalError:
        pass


def blocks_sqlite():
    try:
        database.execute("insert into orders values (1)")  # blocks
    except sqlite3.OperationalError:
        pass


def blocks_flock():
    with open(LOCK) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # blocks


def blocks_hash():
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 2_000_000)  # blocks


def blocks_shell():
    os.system("sleep 0.5")  # blocks


def blocks_in_python():
    return sum(number * number for number in range(8_000_000))  # blocks


def cooperates_sleep():
    time.sleep(0.5)


def cooperates_kafka_poll():
    for _ in range(50):
        consumer.poll(0)
        gevent.sleep(0.01)


def cooperates_flock():
    with open(LOCK) as file:
        for _ in range(50):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                gevent.sleep(0.01)


def cooperates_hash():
    arguments = ("sha256", b"password", b"salt", 2_000_000)
    gevent.get_hub().threadpool.apply(hashlib.pbkdf2_hmac, arguments)


def cooperates_shell():
    subprocess.run(["sleep", "0.5"])


with watched("blocks_kafka_poll"):
    gevent.spawn(blocks_kafka_poll).join()
with watched("blocks_kafka_flush"):
    gevent.spawn(blocks_kafka_flush).join()
with watched("blocks_postgres_connect"):
    gevent.spawn(blocks_postgres_connect).join()
with watched("blocks_sqlite"):
    gevent.spawn(blocks_sqlite).join()
with watched("blocks_flock"):
    gevent.spawn(blocks_flock).join()
with watched("blocks_hash"):
    gevent.spawn(blocks_hash).join()
with watched("blocks_shell"):
    gevent.spawn(blocks_shell).join()
with watched("blocks_in_python"):
    gevent.spawn(blocks_in_python).join()
with watched("cooperates_sleep"):
    gevent.spawn(cooperates_sleep).join()
with watched("cooperates_kafka_poll"):
    gevent.spawn(cooperates_kafka_poll).join()
with watched("cooperates_flock"):
    gevent.spawn(cooperates_flock).join()
with watched("cooperates_hash"):
    gevent.spawn(cooperates_hash).join()
with watched("cooperates_shell"):
    gevent.spawn(cooperates_shell).join()
report()
