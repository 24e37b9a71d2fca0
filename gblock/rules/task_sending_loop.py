"""``task-sending-loop``: a loop sends tasks and never gives the hub a turn."""

from __future__ import annotations

import libcst as cst

from gblock.call_rule import CallRule


class TaskSendingLoop(CallRule):
    """A loop sends tasks to a broker and never gives the hub a turn.

    ## What it does

    Reports `delay`, `apply_async` and `send_task` of Celery in loops and comprehensions that call
    nothing else which waits cooperatively, and that are not visibly short.

    ## Why it blocks the hub

    To send a task takes about a millisecond of Python: a message is built, serialised and written
    to a socket. With RabbitMQ no answer is waited for, so the socket never yields to the hub: a
    loop over 10,000 tasks holds it for ten seconds and more.

    ## Use instead

    `gevent.sleep(0)` in every turn, one task that gets the whole list, or `group` in a task of its
    own.

    ## Limits

    Silent where the project's Python files name a Redis or an SQS broker and no AMQP one: each
    task waits for an answer there. The number of turns is known only of literals, and of `range`
    with constant bounds.
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
        "a turn for the hub after each task": """
            import gevent
            from celery import shared_task

            @shared_task
            def notify(user):
                pass

            def notify_all(users):
                for user in users:
                    notify.delay(user)
                    gevent.sleep(0)
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
        """Report a call that sends a task in every turn of a loop."""
        site = self.source.site(node)
        for found in site.found if site else ():
            if found.blocker.kind not in self.kinds or site is None or site.native:
                continue
            where = self.source.repeats(site)
            if where:
                each = (found.blocker.seconds_each or 0.0) * 1000
                self.report(
                    node,
                    self.severity_of(found),
                    f"`{self.source.code(node)}` sends a task in every turn of a {where} that "
                    f"never yields to the hub; each call takes {each:.2g} ms",
                    found.blocker.remedy(),
                    found=found,
                    why=found.blocker.why,
                )
                return
