from gevent import monkey

monkey.patch_all()

import gevent
from confluent_kafka import Consumer
from jobs import SETTINGS, Jobs

TIME_OUT = 0.5


def consume(jobs):
    consumer = Consumer(SETTINGS)
    consumer.subscribe([jobs.topic], on_assign=jobs.assigned)
    while not jobs.done:
        message = consumer.poll(timeout=TIME_OUT)
        gevent.sleep(0.001)  # without it no other greenlet would ever run
        if message is None:
            continue
        jobs.start(message)


if __name__ == "__main__":
    jobs = Jobs()
    gevent.spawn(consume, jobs).join()
    jobs.print()
