"""Code that the consumers of this story share: the jobs, and their duration."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from urllib.request import urlopen

import gevent
from heartbeat import Heartbeat

WAIT = float(os.environ["STORY_WAIT"])
WANTED = int(os.environ["STORY_JOBS"])
SETTINGS = {
    "bootstrap.servers": os.environ["STORY_BROKERS"],
    "group.id": "story",
    "auto.offset.reset": "earliest",
    "log_level": 0,
}


class Jobs:
    """Starts a greenlet a message, and counts those that are done."""

    topic = "jobs"

    def __init__(self) -> None:
        self.heartbeat = Heartbeat()
        self.ended = 0.0
        self.finished = 0

    @property
    def done(self) -> bool:
        """Return whether there is nothing more to consume and to wait for."""
        return self.finished >= WANTED

    def assigned(self, *_: object) -> None:
        """The consumer has its partitions: messages may come."""
        Path(os.environ["STORY_READY"]).touch()

    def start(self, _message: object) -> None:
        """Do what one message asks for."""
        gevent.spawn(self._run)

    def _run(self) -> None:
        if WAIT:
            with urlopen(f"{os.environ['STORY_SERVICE']}/{WAIT}") as response:
                response.read()
        self.finished += 1
        self.ended = time.monotonic()

    def print(self) -> None:
        """The figures, for the program that compares them."""
        print(json.dumps({"ended": self.ended, "late": self.heartbeat.figures()}))
