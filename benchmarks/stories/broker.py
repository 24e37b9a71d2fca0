"""A Kafka cluster for one story: librdkafka's mock brokers; commands on stdin produce messages.

python broker.py ROUND_TRIP_IN_MILLISECONDS
"""

from __future__ import annotations

import sys

from confluent_kafka import Producer

producer = Producer(
    {
        "bootstrap.servers": "mock",
        "test.mock.num.brokers": 1,
        "test.mock.broker.rtt": int(sys.argv[1]),
        "linger.ms": 1,
        "log_level": 0,
    }
)
brokers = producer.list_topics(timeout=30).brokers.values()
print(",".join(f"{broker.host}:{broker.port}" for broker in brokers), flush=True)
for line in sys.stdin:
    topic, count = line.split()
    producer.list_topics(topic, timeout=30)  # makes it
    for number in range(int(count)):
        producer.produce(topic, str(number).encode())
    producer.flush()
    print("done", flush=True)
