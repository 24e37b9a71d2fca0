"""Report what blocks the hub of a running process: `GBLOCK_PROBE=1`, or `start()`.

gevent loads `gblock.probing.hook` by its entry points, in every process that patches. The probe
then turns gevent's monitor thread on and samples the hub from it. See `docs/probe.md`.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NamedTuple

from gblock.probing import frames
from gblock.probing import settings as _settings
from gblock.probing.clocks import Collections
from gblock.probing.record import Recorder
from gblock.probing.sampler import Sampler
from gblock.probing.stacks import UserCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gblock.probing.monitor import Monitor

    Sink = Callable[[dict[str, object]], object]

__all__ = ["settle", "start", "stop", "turn"]

_GUARD = 2.0
"""Seconds between two checks of the monitor thread by the hub."""


class _Watch:
    """A watched hub, with the state to restore at the end."""

    def __init__(self, probe: _Probe, hub: Any, sampler: Sampler) -> None:
        self.probe = probe
        self.sampler = sampler
        self.monitor: Monitor | None = None
        self.seen = -1
        loop = hub.loop
        self.fork = loop.fork(ref=False)
        self.guard = loop.timer(_GUARD, _GUARD, ref=False)
        # The watchers must not keep the hub of a finished thread alive.
        import weakref

        self.hub = weakref.ref(hub)
        self.fork.start(self.after_fork)
        self.guard.start(self.mend)

    def after_fork(self) -> None:
        """Restart in a child; runs in its hub, also after a fork that Python does not see."""
        try:
            hub = self.hub()
            if hub is not None:
                self.begin_again()
                self._restart(hub)
        except Exception as error:  # noqa: BLE001 - the host goes on without a probe
            self.probe.recorder.warn(f"the probe did not survive a fork: {type(error).__name__}")

    def mend(self) -> None:
        """Restart the monitor thread if it has died, which it does silently."""
        try:
            hub = self.hub()
            samples, seen = self.sampler.samples, self.seen
            self.seen = samples
            self.probe.purge()
            self.probe.heed_the_host()
            if hub is None or samples != seen or self.sampler.disabled is not None:
                return
            if not self._lives():
                self._restart(hub)
        except Exception as error:  # noqa: BLE001 - as above
            self.probe.recorder.warn(f"the probe cannot be restored: {type(error).__name__}")

    def begin_again(self) -> None:
        """Reset the parent's state, at the first event in the new process."""
        hub = self.hub()
        if hub is not None and self.sampler.pid != os.getpid():
            self.probe.after_fork()
            self.sampler.native = os.getpid()  # only the main thread survives a fork
            self.sampler.restart()
            self.probe.tell_start(hub, self)

    def _restart(self, hub: Any) -> None:
        monitor = hub.periodic_monitoring_thread
        if monitor is None or not monitor.should_run:
            hub.periodic_monitoring_thread = None
            self.monitor = None
            hub.start_periodic_monitoring_thread()
        elif monitor.pid != os.getpid():
            monitor._on_fork()  # noqa: SLF001 - hub.reinit() calls it, too
        elif not self._lives():
            from gevent._monitor import start_new_thread

            monitor.monitor_thread_ident = start_new_thread(monitor, ())

    def _lives(self) -> bool:
        """Return whether the monitor's thread exists and still runs the monitor."""
        thread = self.monitor.thread if self.monitor is not None else None
        if thread is None or not thread.should_run:
            return False
        found, threads = frames.of_thread(thread.monitor_thread_ident)
        return not threads or any(frame.f_code is type(thread).__call__.__code__ for frame in found)

    def join(self, thread: Any) -> None:
        """Sample the hub from this monitor thread, and silence gevent's own monitoring."""
        if self.monitor is not None:
            if self.monitor.thread is thread:
                return
            self.monitor.leave()
        from gblock.probing.monitor import Monitor

        self.monitor = Monitor(thread, self.sampler.look, self.probe.settings.period)
        self.probe.heed_the_host()
        if self.probe.owns_monitor:
            self.monitor.quieten()
        self.monitor.is_open = not self.probe.is_starting

    def open(self) -> None:
        """Take samples from now on."""
        if self.monitor is not None and not self.monitor.is_open:
            self.sampler.restart()
            self.monitor.is_open = True

    def is_over(self) -> bool:
        """Return whether the hub was collected or destroyed; gevent itself keeps most of them."""
        hub = self.hub()
        return hub is None or hub.loop is None

    def gone(self) -> None:
        """Stop after the hub's thread has ended without `hub.destroy()`; in the monitor thread."""
        self.probe.drop(self)
        if self.monitor is not None:
            self.monitor.leave()
            if self.probe.owns_monitor:
                self.monitor.thread.kill()

    def at_pace(self, period: float) -> None:
        """Set the period in seconds; gevent's thread sleeps for the shortest period."""
        if self.monitor is not None:
            self.monitor.at_pace(period)

    def leave(self) -> None:
        """Stop sampling; in another thread, leave state that only the hub's thread may restore."""
        monitor, hub = self.monitor, self.hub()
        if monitor is not None:
            monitor.leave()
        from gevent._monitor import get_thread_ident

        if hub is not None and get_thread_ident() == hub.thread_ident:
            for watcher in (self.fork, self.guard):
                watcher.stop()
                watcher.close()
            if monitor is not None and self.probe.owns_monitor:
                monitor.thread.kill()
                hub.periodic_monitoring_thread = None


class _Replaced(NamedTuple):
    """A function that the probe has put in the place of another one."""

    owner: Any
    name: str
    before: Any
    """None if there was none."""
    function: Callable[..., Any]


class _Probe:
    """The probe of this process."""

    def __init__(self, settings: _settings.Settings) -> None:
        import gevent
        import greenlet
        from gevent.monkey import get_original

        if tuple(map(int, gevent.__version__.split(".")[:2])) < (21, 1):
            # No loop accepts callbacks from another thread.
            raise ImportError(f"gevent {gevent.__version__} is older than 21.1")
        self.versions = {"gevent": gevent.__version__, "greenlet": greenlet.__version__}
        self.settings = settings
        self.recorder = Recorder(settings, get_original("_thread", "allocate_lock"))
        self.collections = Collections()
        self.library = UserCode(settings.user, routes=settings.route)
        self.watches: dict[int, _Watch] = {}
        self.held: dict[int, Any] = {}
        self.replaced: list[_Replaced] = []
        """The functions of gevent and of the server that call the probe."""
        self.config = gevent.config
        self.owns_monitor = settings.owns_monitor or not self.config.monitor_thread
        self.watchdog: Any = None
        self.dump: Any = None
        self.started: Any = None
        self._start_of_gevent: Any = None
        self.is_starting = False

    def begin(self) -> None:
        from gevent import events, hub
        from gevent._hub_local import get_hub_if_exists

        self.started = events.PeriodicMonitorThreadStartedEvent
        self.hold_back()
        if self.owns_monitor:
            # The host's code finds its own setting, also under `gblock run`.
            self.config.monitor_thread = False
            self._start_with_hubs()
            self._spare_the_warning()
        if self.settings.watchdog:
            from gblock.probing.watchdog import Watchdog

            self.watchdog = Watchdog(self.settings, self.recorder)
        if self.settings.stacks:
            from gblock.probing.dump import Dump

            self.dump = Dump(self.settings, self.recorder)
            self.dump.arm()
        events.subscribers.append(self.on_event)
        gc.callbacks.append(self.collections)
        atexit.register(self.at_exit)
        self.end_with_uwsgi()
        running = get_hub_if_exists()
        if isinstance(running, hub.Hub) and running:
            # A hub that does not run yet starts its monitor thread when it does. The thread would
            # end if it started earlier: it stops for good if its first check finds no hub.
            monitor = running.start_periodic_monitoring_thread()
            if monitor is None and self.owns_monitor:
                monitor = self._start_monitor(running)
            if monitor is not None:
                self.adopt(monitor)

    def heed_the_host(self) -> None:
        """Hand gevent's monitoring back if the host has turned it on; runs in a hub's thread."""
        if self.is_starting or not (self.owns_monitor and self.config.monitor_thread):
            return
        from gevent._monitor import get_thread_ident

        self.owns_monitor = False
        for watch in self.watches.values():
            monitor, hub = watch.monitor, watch.hub()
            if monitor is None or hub is None or hub.thread_ident != get_thread_ident():
                continue
            monitor.give_back()

    def end_with_uwsgi(self) -> None:
        """Write the end in uWSGI's workers, too, which do not run `atexit` functions."""
        uwsgi: Any = sys.modules.get("uwsgi")
        if uwsgi is None:
            return
        before = getattr(uwsgi, "atexit", None)

        def at_exit() -> None:
            self.at_exit()
            if before is not None:
                before()

        self.replace(uwsgi, "atexit", at_exit)

    def hold_back(self) -> None:
        """Keep the monitor thread out of uWSGI's master.

        uWSGI forks in C after it has released the GIL. If a native thread holds it at that moment,
        the worker waits for it forever, so there must be no such thread. Workers start their own.
        """
        uwsgi = sys.modules.get("uwsgi")
        if uwsgi is None:
            return
        from gevent.hub import Hub

        original = Hub.start_periodic_monitoring_thread

        def start_in_workers(hub: Any) -> Any:
            if uwsgi.worker_id() or uwsgi.mule_id():
                return original(hub)
            if id(hub) not in self.held:
                watcher = self.held[id(hub)] = hub.loop.fork(ref=False)
                watcher.start(hub.start_periodic_monitoring_thread)
            return None

        self.replace(Hub, "start_periodic_monitoring_thread", start_in_workers)

    def _start_with_hubs(self) -> None:
        """Start the monitor thread of each hub that begins to run."""
        import greenlet
        from gevent.hub import Hub

        original = self._start_of_gevent = Hub.start_periodic_monitoring_thread

        def start(hub: Any) -> Any:
            if not self.owns_monitor:
                return original(hub)
            if not self.config.monitor_thread and greenlet.getcurrent() is hub:
                try:
                    return self._start_monitor(hub)
                except Exception as error:  # noqa: BLE001 - an exception would break the host
                    self.recorder.warn(f"a hub is not watched: {type(error).__name__}: {error}")
                    return None
            monitor = original(hub)
            try:
                self.heed_the_host()
            except Exception as error:  # noqa: BLE001 - as above
                self.recorder.warn(f"gevent's monitor is not given back: {type(error).__name__}")
            return monitor

        self.replace(Hub, "start_periodic_monitoring_thread", start)

    def _start_monitor(self, hub: Any) -> Any:
        """Start gevent's monitor thread for the probe alone; return None in uWSGI's master."""
        settings = [self.config.settings[name] for name in ("monitor_thread", "max_blocking_time")]
        before = [setting.get() for setting in settings]
        # gevent's thread sleeps this long before its first check; without a number it fails.
        for setting, value in zip(settings, (True, float(self.settings.period)), strict=True):
            setting.value = value
        self.is_starting = True
        try:
            monitor = self._start_of_gevent(hub)
        finally:
            self.is_starting = False
            for setting, value in zip(settings, before, strict=True):
                setting.value = value
        watch = self.watches.get(id(hub))
        if watch is not None:
            # gevent has looked for plug-ins since, for which old versions take half a second.
            watch.open()
        return monitor

    def _spare_the_warning(self) -> None:
        """Silence gevent's warning about a missing psutil: memory is not monitored."""
        from gevent._monitor import PeriodicMonitoringThread as Monitor

        install = Monitor.install_monitor_memory_usage

        def quietly(monitor: Any) -> None:
            if monitor.can_monitor_memory_usage():
                install(monitor)

        self.replace(Monitor, "install_monitor_memory_usage", quietly)

    def replace(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        """Put a function in the place of another one until the probe stops."""
        self.replaced.append(_Replaced(owner, name, vars(owner).get(name), function))
        setattr(owner, name, function)

    def put_back(self) -> None:
        """Restore the functions that were replaced, but those that something replaced since."""
        for owner, name, before, function in reversed(self.replaced):
            if vars(owner).get(name) is not function:
                continue
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self.replaced = []
        from gevent._hub_local import get_hub_if_exists

        watcher = self.held.pop(id(get_hub_if_exists()), None)
        if watcher is not None:
            watcher.stop()
            watcher.close()

    def on_event(self, event: object) -> None:
        """Handle gevent's events; it sends all of them to the monitor thread."""
        try:
            if isinstance(event, self.started):
                self.adopt(event.monitor)
        except Exception as error:  # noqa: BLE001 - an exception would break the host
            self.recorder.warn(f"the probe cannot watch a hub: {type(error).__name__}: {error}")

    def adopt(self, monitor: Any) -> None:
        """Watch the hub of a monitor thread; runs in the hub's thread."""
        hub = monitor.hub
        if hub is None:
            return
        self.after_fork()  # a server may patch in its master and run hubs in its workers only
        self.purge()
        found = self.watches.get(id(hub))
        if found is None:
            sampler = Sampler(hub, self.settings, self.recorder, self.collections, self.library)
            sampler.on_look = self._on_look(hub)
            found = self.watches[id(hub)] = _Watch(self, hub, sampler)
            sampler.on_fork, sampler.on_pace = found.begin_again, found.at_pace
            sampler.on_gone = found.gone
            sampler.restart(self.config.max_blocking_time or 0.0)
            self.tell_start(hub, found)
        found.join(monitor)

    def purge(self) -> None:
        """Forget the hubs that were destroyed."""
        for watch in list(self.watches.values()):
            if watch.is_over():
                self.drop(watch)
                watch.sampler.finish(is_over=True)

    def drop(self, watch: _Watch) -> None:
        """Forget a hub that has ended."""
        for key, each in list(self.watches.items()):
            if each is watch:
                self.watches.pop(key, None)
                self.recorder.forget(key)

    def _on_look(self, hub: Any) -> Callable[[], None] | None:
        """Return what follows each sample; None if nothing that was asked for."""
        watchdog, dump = self.watchdog, self.dump
        if dump is None:
            return watchdog.feed if watchdog is not None else None

        import weakref

        watched = weakref.ref(hub)

        def look() -> None:
            if watchdog is not None:
                watchdog.feed()
            hub = watched()
            if hub is not None:
                dump.look(hub)

        return look

    def tell_start(self, hub: Any, watch: _Watch) -> None:
        self.recorder.start(
            id(hub),
            {
                **self.versions,
                "hub": watch.sampler.name,
                "thread": watch.sampler.native,
                "loop": type(hub.loop).__module__,
            },
        )

    def after_fork(self) -> None:
        """Start new records if the process has forked."""
        if self.recorder.pid != os.getpid():
            self.recorder.begin()
            if self.watchdog is not None:
                self.watchdog.after_fork()
            if self.dump is not None:
                self.dump.arm()

    def at_exit(self) -> None:
        if self.watchdog is not None and self.recorder.pid == os.getpid():
            self.watchdog.stop()  # the host's exit may take long
        self.end("exit")

    def end(self, reason: str) -> None:
        if self.recorder.pid != os.getpid() or self.recorder.ended:
            return  # a child that never ran its hub
        for watch in list(self.watches.values()):
            if watch.sampler.pid == os.getpid():
                watch.sampler.finish(is_over=watch.is_over())
        if self.watches:
            self.recorder.end(reason)


_probe: _Probe | None = None


def start(
    *,
    threshold: float | None = None,
    sink: Sink | None = None,
) -> None:
    """Start the probe in this process, regardless of `GBLOCK_PROBE`; a second call is harmless.

    Hubs that already run in other threads stay unwatched: start early.

    Args:
        threshold: The shortest block to record, in seconds, instead of the environment's.
        sink: Called with each record of a site, a block and a heartbeat, in the monitor's native
            thread. A block above `GBLOCK_PROBE_MAX_RECORDS` has a true ``limited``. A sink that
            raises is not called again.

    Raises:
        ImportError: gevent is not installed, or older than 21.1.
    """
    settings = _read()
    if threshold is not None:
        settings.threshold = threshold
    settings.sink = sink
    _start(settings)


def turn() -> None:
    """Let the hub run one iteration: this ends the previous block and starts the next."""
    import gevent

    gevent.sleep(0)


def settle() -> None:
    """Let the hub run until the probe has sampled it, so that its first iteration counts."""
    import gevent

    enough = None
    for _ in range(40):
        if _probe is None:
            return
        gevent.sleep(_probe.settings.period / 4)
        watch = _probe.watches.get(id(gevent.get_hub()))
        if watch is None:
            continue  # its monitor thread has just been started
        if enough is None:
            enough = watch.sampler.samples + 2
        elif watch.sampler.samples >= enough:
            return


def stop() -> None:
    """Write unfinished blocks and restore gevent's state.

    A hub of another thread keeps its monitor thread, which samples no more.
    """
    global _probe
    if _probe is None:
        return
    probe, _probe = _probe, None
    probe.end("stopped")
    from gevent import events

    for watch in probe.watches.values():
        watch.leave()
    probe.put_back()
    if probe.watchdog is not None:
        probe.watchdog.stop()
    if probe.dump is not None:
        probe.dump.disarm()
    if probe.on_event in events.subscribers:
        events.subscribers.remove(probe.on_event)
    if probe.collections in gc.callbacks:
        gc.callbacks.remove(probe.collections)
    atexit.unregister(probe.at_exit)


def run_in_hub(work: Callable[[], None]) -> None:
    """Run a function in a new greenlet of a watched hub; callable from any thread."""
    import gevent

    for watch in list(_probe.watches.values()) if _probe is not None else ():
        hub = watch.hub()
        if hub is not None:
            hub.loop.run_callback_threadsafe(gevent.spawn, work)
            return


def activate(sink: Sink | None = None, *, started_by_host: bool = False) -> None:
    """Start the probe if the environment asks for it; gevent's plug-in calls this.

    Args:
        sink: As for `start`.
        started_by_host: True if the host's code has started gevent's monitor thread itself.
    """
    settings = _read()
    settings.sink = sink
    settings.owns_monitor = settings.owns_monitor and not started_by_host
    if settings.enabled:
        _start(settings)


def adopt(event: object, sink: Sink | None = None) -> None:
    """Watch the hub of a monitor thread that has just started; gevent's plug-in calls this."""
    import greenlet

    monitor = getattr(event, "monitor", None)
    # gevent starts its monitor thread in the greenlet of the hub, when the hub begins to run.
    by_host = monitor is not None and greenlet.getcurrent() is not monitor.hub
    activate(sink, started_by_host=by_host)
    if _probe is not None and monitor is not None:
        _probe.adopt(monitor)


_told: set[str] = set()


def _read() -> _settings.Settings:
    def warn(text: str) -> None:
        if text not in _told:
            _told.add(text)
            try:
                os.write(2, f"gblock: {text}\n".encode("ascii", "backslashreplace"))
            except OSError:
                return

    return _settings.read(os.environ, warn)


def _start(settings: _settings.Settings) -> None:
    global _probe
    if _probe is None:
        _probe = _Probe(settings)
        _probe.begin()
