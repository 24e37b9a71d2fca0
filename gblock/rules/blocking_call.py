"""``blocking-call``: a call that waits in native code."""

from __future__ import annotations

from gblock.call_rule import BlockerRule


class BlockingCall(BlockerRule):
    """A call waits in native code, where monkey patching cannot reach.

    ## What it does

    Reports calls that wait for a server, another process, a lock or a child process, in C code or
    in a system call that gevent does not patch. The catalog lists these calls and the arguments
    that matter: a call with a timeout of 0, or a flag such as `LOCK_NB`, does not wait. Nor does a
    call on an object that is known to be ready: after `poll()`, `select()` or `not empty()`.

    ## Why it blocks the hub

    All greenlets of a process run on one native thread. A greenlet that waits in Python's patched
    `socket`, `time` or `threading` lets the hub run the others meanwhile. A C library knows nothing
    of the hub: it blocks the thread, and every request, task and heartbeat of the process waits.

    ## Use instead

    The remedy in the catalog (`gblock explain ID`): a timeout of 0 in a loop with
    `gevent.sleep`, a cooperative driver, a wait callback, or
    `gevent.get_hub().threadpool.apply(function, arguments)` where the call releases the GIL.

    ## Limits

    Calls on an object of unknown type are not reported: an object from a framework's registry, a
    plug-in, or a parameter that no call in the project fills. `--show-unresolved` lists such calls.
    Values of environment variables and files are unknown: such a timeout counts as a wait.
    """

    name = "blocking-call"
    since = "0.1.0"
    fixes = ("poll-loop", "flush-loop", "threadpool", "green-import", "recipe")
    kinds = frozenset({"waits", "spawns"})

    VALID = {
        "a pipe that was polled": """
            from multiprocessing.connection import Connection

            def receive(pipe: Connection):
                if pipe.poll():
                    return pipe.recv()
            """,
        "a timeout of 0": """
            import gevent
            from confluent_kafka import Consumer

            consumer = Consumer({"group.id": "g"})
            while True:
                message = consumer.poll(0)
                if message is None:
                    gevent.sleep(0.1)
            """,
        "a real thread of the hub's threadpool": """
            import os
            import gevent

            gevent.get_hub().threadpool.apply(os.system, ("sync",))
            """,
        "another class's method of the same name": """
            class Writer:
                def flush(self):
                    self.pending = []

            def save(writer: Writer):
                writer.flush()
            """,
        "a flag that asks not to wait": """
            import fcntl

            def lock(file):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            """,
        "a wait callback makes the driver cooperative": """
            import psycopg2
            from psycogreen.gevent import patch_psycopg

            patch_psycopg()
            connection = psycopg2.connect("dbname=shop")
            """,
    }
    INVALID = {
        "a consumer waits in librdkafka": """
            from confluent_kafka import Consumer

            consumer = Consumer({"group.id": "g"})
            while True:
                message = consumer.poll(timeout=1.0)  # expect: blocking-call
            """,
        "kept on self by another method": """
            import confluent_kafka

            class Events:
                def connect(self):
                    self.producer = confluent_kafka.Producer({})

                def close(self):
                    self.producer.flush()  # expect: blocking-call
            """,
        "a function of the operating system": """
            import os

            os.system("sync")  # expect: blocking-call
            """,
        "a cursor of a connection": """
            import psycopg2

            with psycopg2.connect("dbname=shop") as connection:  # expect: blocking-call
                cursor = connection.cursor()
                cursor.execute("select pg_sleep(1)")  # expect: blocking-call
            """,
        "a bound method under another name": """
            from confluent_kafka import Producer

            flush = Producer({}).flush
            flush(30)  # expect: blocking-call
            """,
    }
