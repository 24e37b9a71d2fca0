"""``false-offload``: a blocker is handed to a thread that is a greenlet."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule

_KINDS = frozenset({"waits", "spawns", "cpu"})


class FalseOffload(CallRule):
    """A blocker is handed to a thread that is a greenlet under monkey patching.

    ## What it does

    Reports `ThreadPoolExecutor.submit`, `threading.Thread`, `asyncio.to_thread`,
    `run_in_executor`, `sync_to_async` and similar calls whose argument blocks: a blocker
    itself, a partial or a lambda of one, or a function of the project that calls one.

    ## Why it blocks the hub

    Under `monkey.patch_all()` threads are greenlets: they run on the hub's thread. A C call that
    waits in one of them blocks the hub as if it were called directly.

    ## Use instead

    `gevent.get_hub().threadpool.apply(function, arguments)`, `gevent.threadpool.ThreadPool` or
    `gevent.threadpool.ThreadPoolExecutor`: their threads are native. They help where the call
    releases the GIL.

    ## Limits

    Follows a function one call deep. Nothing is reported where every process on gevent that can run
    the code leaves `threading` unpatched, as after `patch_all(thread=False)`: its threads are
    native.
    """

    name = "false-offload"
    since = "0.1.0"

    VALID = {
        "a native threadpool": """
            from confluent_kafka import Consumer
            from gevent.threadpool import ThreadPoolExecutor

            consumer = Consumer({})
            ThreadPoolExecutor(2).submit(consumer.poll, 1.0)
            """,
        "what is handed over does not block": """
            from concurrent.futures import ThreadPoolExecutor
            from confluent_kafka import Consumer

            consumer = Consumer({})
            ThreadPoolExecutor(2).submit(consumer.poll, 0)
            """,
    }
    INVALID = {
        "a bound method": """
            from concurrent.futures import ThreadPoolExecutor
            from confluent_kafka import Consumer

            consumer = Consumer({})
            executor = ThreadPoolExecutor(2)
            executor.submit(consumer.poll, 1.0)  # expect: false-offload
            """,
        "a lambda": """
            import asyncio
            import os

            async def sync():
                await asyncio.to_thread(lambda: os.system("sync"))  # expect: false-offload
            """,
        "a function that blocks": """
            import os
            import threading

            def work():
                os.system("sync")  # expect: blocking-call

            threading.Thread(target=work).start()  # expect: false-offload
            """,
        "a partial": """
            import functools
            import os
            from threading import Thread

            Thread(None, functools.partial(os.system, "sync")).start()  # expect: false-offload
            """,
    }

    def visit_Call(self, node: cst.Call) -> None:
        """Report a call that hands a blocker to a thread."""
        site = self.source.site(node)
        if site is None or site.handover is None or site.handover.offload.thread == "native":
            return
        for found in self.source.handed(site):
            if found.blocker.kind not in _KINDS or found.wait.immediate:
                continue
            offload = site.handover.offload.symbol
            always = site.handover.offload.thread == "hub"
            when = "" if always else "under monkey patching, "
            help = "Run it in a native thread: gevent.get_hub().threadpool.apply(function, args)."
            if found.blocker.releases_gil is False:
                help = found.blocker.remedy()
            self.report(
                node,
                self.severity_of(found),
                f"`{self.source.code(node)}` does not offload the call: {when}"
                f"{offload} runs a greenlet, and {found.symbol} blocks the hub in it"
                f"{self.source.lack(found)}",
                help,
                found=found,
                why=found.blocker.why,
            )
            return
