"""gevent's plug-ins: gevent calls them in every process that patches or monitors its hub.

An exception here, also on import, would stop the host from starting, and hosts without the probe
pay for this module: it imports only `os`, and catches everything.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_OFF = ("", "0", "false", "no", "off")


def did_patch_all(event: object) -> None:  # noqa: ARG001 - gevent gives it
    """Start the probe after a process has patched, if it is enabled."""
    if os.environ.get("GBLOCK_PROBE", "").strip().lower() in _OFF:
        return
    try:
        from gblock import runtime_probe

        runtime_probe.activate(_sink())
    except Exception as error:  # noqa: BLE001 - an exception would break the host
        _say(error)


def monitor_thread_started(event: object) -> None:
    """Watch a hub whose monitor thread has just been started."""
    if os.environ.get("GBLOCK_PROBE", "").strip().lower() in _OFF:
        return
    try:
        from gblock import runtime_probe

        sink = _sink()
        runtime_probe.adopt(event, sink)
        for part in _sinks:
            if hasattr(part, "begin"):
                part.begin(event.monitor.hub)  # type: ignore[attr-defined]
    except Exception as error:  # noqa: BLE001 - as above
        _say(error)


_sinks: list[Callable[[dict[str, object]], object]] = []
"""The sinks for libraries of the host: one of each kind for the process, once created."""
_made: list[str] = []
"""The variables whose sinks were created, or could not be."""


def _sink() -> Callable[[dict[str, object]], object] | None:
    """Return the sink for the host's metrics and events, if the environment names any."""
    for name in ("GBLOCK_PROBE_METRICS", "GBLOCK_PROBE_EVENTS"):
        if not os.environ.get(name) or name in _made:
            continue
        _made.append(name)
        try:
            found = _from_environment(name)
            if found is not None:
                _sinks.append(found)
        except Exception as error:  # noqa: BLE001 - as above
            _say(error, "leaves a setting out")
    return _pass_on if _sinks else None


def _from_environment(name: str) -> Callable[[dict[str, object]], object] | None:
    if name == "GBLOCK_PROBE_METRICS":
        from gblock import metrics

        return metrics.from_environment()
    from gblock import events, runtime_probe

    return events.from_environment(runtime_probe.run_in_hub)


def _pass_on(record: dict[str, object]) -> None:
    """Pass a record to each sink; remove one that fails."""
    for sink in list(_sinks):
        try:
            sink(record)
        except Exception as error:  # noqa: BLE001 - as above
            _sinks.remove(sink)
            _say(error, "leaves a sink out that failed")


def _say(error: Exception, what: str = "did not start") -> None:
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        os.write(2, f"gblock: the probe {what}: {text}\n".encode("ascii", "replace"))
    except Exception:  # noqa: BLE001, S110 - a closed stderr must not break the host
        pass
