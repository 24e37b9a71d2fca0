"""``task-sending-loop``: a loop sends tasks and never yields to the hub."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule


class TaskSendingLoop(CallRule):
    """A loop sends tasks to a broker and never yields to the hub.

    ## What it does

    Reports `delay`, `apply_async` and `send_task` of Celery in loops and comprehensions that make
    no other call that waits cooperatively, and that are not visibly short.

    ## Why it blocks the hub

    Sending a task takes about a millisecond of Python: a message is built, serialised and written
    to a socket. With RabbitMQ the sender does not wait for an answer, so the socket never yields to
    the hub: a loop over 10,000 tasks blocks it for ten seconds or more.

    ## Use instead

    `gevent.sleep(0.001)` in every iteration, one task for the whole list, or `group` in a task of
    its own.

    ## Limits

    Nothing is reported where the project's Python files name Redis or SQS, which may be the broker:
    there, each task waits for an answer. The number of iterations is known only for literals, and
    for `range` with constant bounds.
    """

    name = "task-sending-loop"
    since = "0.1.0"
    kinds = frozenset({"sends"})

    VALID = {
        "one task": """
            from celery import shared_task

            @shared_task
            def notify(user):
                pass

            def register(user):
                notify.delay(user)
            """,
        "yields after each task": """
            import gevent
            from celery import shared_task

            @shared_task
            def notify(user):
                pass

            def notify_all(users):
                for user in users:
                    notify.delay(user)
                    gevent.sleep(0.001)
            """,
        "a broker that answers": """
            from celery import Celery

            app = Celery("shop", broker="redis://redis/0")

            @app.task
            def notify(user):
                pass

            def notify_all(users):
                for user in users:
                    notify.delay(user)
            """,
    }
    INVALID = {
        "a task for each": """
            from celery import shared_task

            @shared_task
            def notify(user):
                pass

            def notify_all(users):
                for user in users:
                    notify.delay(user)  # expect: task-sending-loop
            """,
        "by name": """
            from celery import Celery

            app = Celery("shop", broker="amqp://rabbit")

            def notify_all(users):
                for user in users:
                    app.send_task("shop.notify", (user,))  # expect: task-sending-loop
            """,
        "in a comprehension": """
            from celery import Celery

            app = Celery("shop")

            @app.task(bind=True)
            def notify(self, user):
                pass

            def notify_all(users):
                return [notify.apply_async((u,)) for u in users]  # expect: task-sending-loop
            """,
    }

    def visit_Call(self, node: cst.Call) -> None:
        """Report a call that sends a task in every iteration of a loop."""
        site = self.source.site(node)
        for found in site.found if site else ():
            if found.blocker.kind not in self.kinds or site is None or site.native:
                continue
            repetition = self.source.repeats(site)
            if repetition.where:
                where = repetition.where
                each = (found.blocker.seconds_each or 0.0) * 1000
                self.report(
                    node,
                    self.severity_of(found),
                    f"`{self.source.code(node)}` sends a task in every iteration of a {where} "
                    f"that never yields to the hub; each call takes {each:.2g} ms",
                    found.blocker.remedy(),
                    found=found,
                    why=found.blocker.why,
                    is_open=not repetition.is_counted,
                )
                return
