"""The probe's settings, from the environment; an invalid value causes a warning."""

from __future__ import annotations

import math
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ON = ("1", "true", "yes", "on")
_OFF = ("", "0", "false", "no", "off")


class Settings:
    """The settings, with their defaults."""

    def __init__(self) -> None:
        """Set the defaults."""
        self.enabled = False
        """GBLOCK_PROBE: whether gevent's plug-ins start the probe."""
        self.threshold = 0.1
        """GBLOCK_PROBE_THRESHOLD: the shortest block to record, in seconds."""
        self.directory: str | None = None
        """GBLOCK_PROBE_DIR: the directory for records; without it, short lines go to stderr."""
        self.heartbeat = 60.0
        """GBLOCK_PROBE_HEARTBEAT: seconds between two heartbeats."""
        self.max_bytes = 10_000_000
        """GBLOCK_PROBE_MAX_BYTES: the size at which a file is rotated; one old file is kept."""
        self.max_files = 1000
        """GBLOCK_PROBE_MAX_FILES: above this, files of this host's dead processes are removed."""
        self.max_sites = 500
        """GBLOCK_PROBE_MAX_SITES: further call sites are counted as one, number 0."""
        self.max_records = 600
        """GBLOCK_PROBE_MAX_RECORDS: blocks per minute; the rest is counted as dropped."""
        self.watchdog = 0.0
        """GBLOCK_PROBE_WATCHDOG: seconds after which `faulthandler` writes all stacks; 0 is off."""
        self.sink: Callable[[dict[str, object]], object] | None = None
        """Called with each record of a site, a block and a heartbeat; set only by code."""
        self.stacks = 0
        """GBLOCK_PROBE_STACKS: the signal that asks for stacks; -1 for a file only, 0 is off."""
        self.route = False
        """GBLOCK_PROBE_ROUTE: whether to record the route or the task of a block."""
        self.release: str | None = None
        """GBLOCK_PROBE_RELEASE: the service's release, for reports."""
        self.user: tuple[str, ...] = ()
        """GBLOCK_PROBE_USER: paths of the user's own code, wherever it is installed."""
        self.owns_monitor = False
        """GBLOCK_PROBE_OWNS_MONITOR: whether gevent's monitor thread runs only for the probe."""

    @property
    def period(self) -> float:
        """Seconds between two samples of a healthy hub; gevent's monitor sleeps at least 5 ms."""
        return min(0.05, max(0.005, 0.4 * self.threshold))

    @property
    def pace(self) -> float:
        """Seconds between two samples while the hub may be blocked."""
        return min(0.025, max(0.005, 0.2 * self.threshold))

    @property
    def suspicious(self) -> float:
        """Seconds of one iteration after which it is sampled closely.

        With the period before it and a late sample, it must stay below the threshold.
        """
        return 0.1 * self.threshold


KNOWN = frozenset(
    f"GBLOCK_PROBE{name}"
    for name in (
        "", "_DIR", "_EVENTS", "_HEARTBEAT", "_MAX_BYTES", "_MAX_FILES", "_MAX_RECORDS",
        "_MAX_SITES", "_METRICS", "_OWNS_MONITOR", "_RELEASE", "_ROUTE",
        "_STACKS", "_THRESHOLD", "_USER", "_WATCHDOG",
    )
)  # fmt: skip
"""The variables of the probe."""


def read(environment: Mapping[str, str], warn: Callable[[str], None]) -> Settings:
    """Return the settings; an invalid value is reported once, and the default applies."""
    settings = Settings()

    def number(name: str, default: float, least: float, most: float) -> float:
        text = environment.get(name, "").strip()
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if least <= value <= most:
            return value
        warn(f"{name}={_shown(text)} is no number from {least:g} to {most:g}: taking {default:g}")
        return default

    def switch(name: str) -> bool:
        text = environment.get(name, "").strip().lower()
        if text not in _ON + _OFF:
            warn(f"{name}={_shown(text)} is neither 1 nor 0: taking 0")
        return text in _ON

    settings.enabled = switch("GBLOCK_PROBE")
    settings.route = switch("GBLOCK_PROBE_ROUTE")
    settings.owns_monitor = switch("GBLOCK_PROBE_OWNS_MONITOR")
    settings.threshold = number("GBLOCK_PROBE_THRESHOLD", settings.threshold, 0.02, 3600)
    settings.heartbeat = number("GBLOCK_PROBE_HEARTBEAT", settings.heartbeat, 0.1, 86400)
    most = 1e12
    settings.max_bytes = int(number("GBLOCK_PROBE_MAX_BYTES", settings.max_bytes, 10_000, most))
    settings.max_files = int(number("GBLOCK_PROBE_MAX_FILES", settings.max_files, 1, 1e6))
    settings.max_sites = int(number("GBLOCK_PROBE_MAX_SITES", settings.max_sites, 1, 1e5))
    settings.max_records = int(number("GBLOCK_PROBE_MAX_RECORDS", settings.max_records, 1, 1e6))
    settings.watchdog = number("GBLOCK_PROBE_WATCHDOG", settings.watchdog, 0, 3600)
    if 0 < settings.watchdog < 0.5:
        warn("GBLOCK_PROBE_WATCHDOG is below 0.5 s: taking 0.5")
        settings.watchdog = 0.5
    directory = environment.get("GBLOCK_PROBE_DIR", "")
    if directory:
        settings.directory = os.path.abspath(directory)
    unknown = sorted(
        name for name in environment if name.startswith("GBLOCK_PROBE") and name not in KNOWN
    )
    if unknown:
        shown = ", ".join(_shown(name) for name in unknown[:5])
        warn(f"unknown variable {shown}: the probe knows {', '.join(sorted(KNOWN))}")
    settings.stacks = _signal(environment.get("GBLOCK_PROBE_STACKS", "").strip(), warn)
    settings.release = environment.get("GBLOCK_PROBE_RELEASE", "").strip()[:100] or None
    roots = environment.get("GBLOCK_PROBE_USER", "").split(os.pathsep)
    settings.user = tuple(os.path.join(os.path.abspath(root), "") for root in roots if root)
    return settings


def _signal(text: str, warn: Callable[[str], None]) -> int:
    """Return the number of a signal: `SIGUSR2`, `SIGRTMIN+3`, `12`; -1 for 1, 0 for 0."""
    if text.lower() in _OFF:
        return 0
    if text.lower() in _ON:
        return -1
    import signal

    name, _, more = text.upper().partition("+")
    try:
        number = int(name) if name.isdigit() else int(signal.Signals[name])
        number += int(more or 0)
        if number in signal.valid_signals() and number not in _NEVER:
            return number
    except (KeyError, ValueError):
        pass
    warn(f"GBLOCK_PROBE_STACKS={_shown(text)} is no signal that may be used: taking 0")
    return 0


_NEVER = frozenset(range(1, 10)) | {11, 13, 14, 15, 17, 18, 19}
"""Signals that end, stop or steer a process."""


def _shown(text: str) -> str:
    return ascii(text[:40])
