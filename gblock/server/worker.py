"""A thread that does one piece of work after another, for an event loop that awaits the results."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

_Work = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Worker:
    """One thread, which ends with the process and delays its end by nothing.

    Args:
        name: The thread's name.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def do(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        """Return the future result of a piece of work, which is done after those before it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._queue.put((work, future, loop))
        return future

    def _run(self) -> None:
        while True:
            work, future, loop = self._queue.get()
            result, error = None, None
            try:
                result = work()
            except Exception as raised:  # noqa: BLE001 - the caller that awaits it gets it
                error = raised
            with suppress(RuntimeError):  # the loop is closed: the server ends
                loop.call_soon_threadsafe(_settle, future, result, error)
            del work, future, loop, result, error


def _settle(future: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
