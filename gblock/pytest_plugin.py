"""Fail a test that blocks the hub for longer than a bound; inert unless a test asks for it.

``@pytest.mark.gblock(max_block=0.1)`` watches one test, the fixture ``hub_watch`` shows a test the
blocks so far, and ``--gblock-max-block=0.1`` watches every test.
"""

from __future__ import annotations

import math
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gblock.extras import remedy

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from types import ModuleType

_BOUND = 0.1
_BLAMELESS = ("thread", "starved")
_EARLY = 0.005
"""Seconds by which the clocks of a test and of its blocks may differ."""


class Limits(NamedTuple):
    """The limits of a test."""

    seconds: float
    allow: tuple[str, ...] = ()
    """Dotted names of calls that may block, with ``*`` for any part."""


class HubWatch:
    """The blocks that the probe has seen in one test."""

    def __init__(self, bound: Limits, sites: Mapping[object, Mapping[str, Any]]) -> None:
        """Create a watch without blocks.

        Args:
            bound: The limits of the test.
            sites: The records of all sites that the session's probe has seen, by number.
        """
        self.bound = bound
        self.began = math.inf
        """The start of the test, in epoch seconds."""
        self._sites = sites
        self._blocks: list[Mapping[str, Any]] = []

    def take(self, record: Mapping[str, Any]) -> None:
        """Store the record of a block that began in this test."""
        if record.get("t", 0.0) >= self.began - _EARLY:
            self._blocks.append(record)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The blocks that are longer than the bound, as records with their site in ``seen``."""
        return [
            {**record, "seen": self._sites.get(record.get("site"), {})}
            for record in tuple(self._blocks)
            if self._is_too_long(record)
        ]

    def forgive(self) -> None:
        """Discard the blocks so far, such as those of a slow set-up."""
        self._blocks.clear()

    def _is_too_long(self, record: Mapping[str, Any]) -> bool:
        if record.get("class") in _BLAMELESS or record.get("duration", 0) <= self.bound.seconds:
            return False
        site = self._sites.get(record.get("site"), {})
        names = [str(site[key]) for key in ("symbol", "callable") if site.get(key)]
        return not any(fnmatchcase(name, one) for name in names for one in self.bound.allow)

    def explained(self) -> str:
        """Return the text of the failure; empty if no block was too long."""
        blocks = self.blocks
        if not blocks:
            return ""
        lines = []
        for block in blocks:
            site = block["seen"]
            called = site.get("symbol") or site.get("callable") or "a call without a name"
            lines.append(
                f"{called} blocked the hub for {block['duration']:.3f} s, "
                f"longer than {self.bound.seconds:g} s ({block.get('class', 'unknown')})"
            )
            lines += [f"  {line}" for line in _stack(site)]
            lines += [f"  {line}" for line in _known(site)]
        return "\n".join(lines)


def _stack(site: Mapping[str, Any]) -> list[str]:
    """Return the frames, the user's own marked; without a stack only the user's own."""
    frames = [dict(frame) for frame in site.get("stack") or () if isinstance(frame, dict)]
    # The frames up to the test are pytest's own.
    own = next((index for index, frame in enumerate(frames) if frame.get("user")), 0)
    frames = frames[own:]
    if not frames and isinstance(site.get("user"), dict):
        frames = [{**site["user"], "user": True}]
    return [
        f"{'>' if frame.get('user') else ' '} {frame.get('file')}:{frame.get('line')} "
        f"in {frame.get('function')}"
        for frame in frames
    ]


def _known(site: Mapping[str, Any]) -> list[str]:
    """Return the catalog's remedy for the call."""
    from gblock import catalog

    known = catalog.load()
    names = (site.get("symbol"), site.get("callable"))
    found = next((b for name in names if name for b in known.lookup(name)), None)
    return [f"catalog: {found.id}", f"instead: {found.remedy()}"] if found else []


class _Session:
    """The one probe of a session, and the test that its records belong to."""

    def __init__(self) -> None:
        self.sites: dict[object, Mapping[str, Any]] = {}
        self.watch: HubWatch | None = None
        self.threshold = math.inf
        """Seconds: the lowest bound of all tests."""
        self._running: ModuleType | None = None
        self._threshold = math.inf

    def sink(self, record: Mapping[str, Any]) -> None:
        """Process a record; the probe calls this in its own thread."""
        if record.get("type") == "site":
            self.sites[record.get("site")] = record
        elif record.get("type") == "block" and self.watch is not None:
            self.watch.take(record)

    def probe(self, bound: float) -> ModuleType:
        """Return the probe, running with a low enough threshold."""
        if self._running is not None and bound < self._threshold:
            self.stop()
        if self._running is None:
            running = _probe()
            self._threshold = min(bound, self.threshold)
            running.start(threshold=self._threshold, sink=self.sink)
            running.settle()
            self._running = running
        return self._running

    def stop(self) -> None:
        """Stop the probe, if it runs."""
        if self._running is not None:
            self._running.stop()
            self._running = None


_WATCH = pytest.StashKey[HubWatch]()
_SESSION = pytest.StashKey[_Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that watches every test."""
    group = parser.getgroup("gblock", "calls that block the gevent hub")
    group.addoption(
        "--gblock-max-block",
        type=float,
        metavar="SECONDS",
        help="fail every test that blocks the gevent hub for longer",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"gblock(max_block={_BOUND}, allow=()): fail the test if it blocks the gevent hub for "
        "longer than max_block seconds, except in calls of the names in allow",
    )
    config.stash[_SESSION] = _Session()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Find the lowest bound: one probe serves all tests."""
    bounds = [item.get_closest_marker("gblock") for item in session.items]
    least = [mark.kwargs.get("max_block") for mark in bounds if mark is not None]
    numbers = [each for each in least if isinstance(each, int | float) and 0 < each < math.inf]
    session.config.stash[_SESSION].threshold = min(numbers, default=math.inf)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the probe at the end of the session."""
    if _SESSION in config.stash:
        config.stash[_SESSION].stop()


@pytest.fixture
def hub_watch(request: pytest.FixtureRequest) -> HubWatch:
    """Return the blocks of the hub in this test, which fails if one is too long."""
    watch: HubWatch = request.node.stash[_WATCH]
    return watch


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Decide whether to watch the test, before any fixture is set up."""
    bound = _bound(item)
    if bound is not None:
        item.stash[_WATCH] = HubWatch(bound, item.config.stash[_SESSION].sites)


pytest_runtest_setup = pytest.hookimpl(tryfirst=True)(pytest_runtest_setup)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Watch one test while it runs, without the work of its fixtures."""
    watch = item.stash.get(_WATCH, None)
    if watch is None:
        return (yield)
    session = item.config.stash[_SESSION]
    probe = session.probe(watch.bound.seconds)
    # Blocks are measured between iterations of the hub, so it must run before and after the test:
    # otherwise one in the test's first or last iteration would have no start or no end.
    probe.turn()
    watch.began, session.watch = time.time(), watch
    started = time.perf_counter()
    try:
        result = yield
    except BaseException:
        _end(session, probe, started)
        # The test's own failure takes precedence; the block may be its reason.
        if text := watch.explained():
            item.add_report_section("call", "gblock", text)
        raise
    _end(session, probe, started)
    if text := watch.explained():
        pytest.fail(text, pytrace=False)
    return result


def _end(session: _Session, probe: ModuleType, started: float) -> None:
    """Let the probe see the end of a test that was long enough to exceed its bound."""
    watch = session.watch
    try:
        if watch is not None and time.perf_counter() - started >= watch.bound.seconds:
            probe.settle()
    finally:
        session.watch = None


def _bound(item: pytest.Item) -> Limits | None:
    marker = item.get_closest_marker("gblock")
    everywhere = item.config.getoption("--gblock-max-block", None)
    if marker is not None:
        return _marked(marker.args, marker.kwargs, everywhere or _BOUND)
    if everywhere is not None:
        return _marked((), {"max_block": everywhere}, _BOUND)
    return Limits(_BOUND) if "hub_watch" in getattr(item, "fixturenames", ()) else None


def _marked(args: tuple[object, ...], options: Mapping[str, object], default: float) -> Limits:
    unknown = options.keys() - {"max_block", "allow"}
    if args or unknown:
        what = "positional arguments" if args else ", ".join(sorted(unknown))
        pytest.fail(f"the marker gblock takes max_block and allow, not {what}", pytrace=False)
    seconds = options.get("max_block", default)
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < (bound := float(str(seconds))) < math.inf:
        pytest.fail(f"max_block is a number of seconds above 0, not {seconds!r}", pytrace=False)
    allow: Any = options.get("allow", ())
    names: Iterable[Any] = [allow] if isinstance(allow, str) else allow
    return Limits(bound, tuple(str(name) for name in names))


def _probe() -> ModuleType:
    """Return the probe; a test that asks for it and cannot have it fails."""
    try:
        # By name: it imports gevent, which not every host of this plug-in has.
        from importlib import import_module

        return import_module("gblock.runtime_probe")
    except ImportError as error:
        why = remedy(error.name) or str(error)
        pytest.fail(f"gblock cannot watch the hub: {why}", pytrace=False)
