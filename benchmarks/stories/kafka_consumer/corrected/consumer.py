from gevent import monkey

monkey.patch_all()

import gevent
from confluent_kafka import Consumer
from jobs import SETTINGS, Jobs


def consume(jobs):
    consumer = Consumer(SETTINGS)
    consumer.subscribe([jobs.topic], on_assign=jobs.assigned)
    while not jobs.done:
        message = consumer.poll(timeout=0)
        if message is None:
            gevent.sleep(0.01)
            continue
        jobs.start(message)


if __name__ == "__main__":
    jobs = Jobs()
    gevent.spawn(consume, jobs).join()
    jobs.print()
