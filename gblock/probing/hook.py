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

        runtime_probe.adopt(event, _sink())
    except Exception as error:  # noqa: BLE001 - as above
        _say(error)


_sinks: list[Callable[[dict[str, object]], object] | None] = []
"""The sink for a metrics library: one for the process, once created."""


def _sink() -> Callable[[dict[str, object]], object] | None:
    """Return the sink for a metrics library, if the environment names one."""
    if not os.environ.get("GBLOCK_PROBE_METRICS"):
        return None
    if not _sinks:
        _sinks.append(None)
        try:
            from gblock import metrics

            _sinks[0] = metrics.from_environment()
        except Exception as error:  # noqa: BLE001 - as above
            _say(error, "counts for no metrics library")
    return _sinks[0]


def _say(error: Exception, what: str = "did not start") -> None:
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        os.write(2, f"gblock: the probe {what}: {text}\n".encode("ascii", "replace"))
    except Exception:  # noqa: BLE001, S110 - a closed stderr must not break the host
        pass
