"""Drivers that strings choose, and the libraries that send statements through them."""

from __future__ import annotations

from typing import Literal

import msgspec

from gblock.catalog.blockers import Evidence, Level
from gblock.catalog.tables import CallArgument, Table


class Choice(Table, frozen=True):
    """Strings of one language that choose a driver."""

    language: str
    """The reader of the string: a chooser's name for the language."""
    names: tuple[str, ...]
    """URL schemes, or whole names."""
    rivals: tuple[str, ...] = ()
    """Distributions that the string may mean instead, if the project requires them, or others that
    bring them."""
    rival_first: bool = False
    """True if a rival is chosen even if the project also requires the driver."""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """By distribution, the versions that know the strings: without one of these they mean none."""


class Driver(Table, frozen=True):
    """A driver that a string in the configuration chooses: each call through it calls a blocker."""

    id: str
    distribution: str
    """The name on PyPI, or ``stdlib``."""
    level: Level
    why: str
    instead: str
    chosen_by: tuple[Choice, ...]
    evidence: Evidence
    requires: tuple[str, ...] = ()
    """The names in dependency lists, if they differ from `distribution`."""
    blocker: str | None = None
    """The id of the blocker that a query calls: its remedies apply to the driver, too."""
    unless_written: str | None = None
    """A pattern for an option that makes the driver cooperative."""
    harmless: str | None = None
    """A pattern for strings that choose the driver without any wait."""
    unless_required: tuple[str, ...] = ()
    """Distributions that show that the string is for development: the service uses another
    database."""
    local: bool = False
    """True if the database is a file of this machine: its statements are mostly brief."""
    alternatives: tuple[str, ...] = ()
    """Distributions that take the same strings, or make it cooperative. If a project requires the
    driver and none of them, a string from the environment chooses it."""

    @property
    def is_off(self) -> bool:
        """True if it is off unless selected."""
        return self.level == "opt-in"


class DriverArgument(CallArgument, frozen=True, kw_only=True):
    """An argument that is read as a driver string."""

    symbol: str
    form: Literal["url", "name", "either"] = "url"
    key: str | None = None
    """For a dict argument: the key of the string."""
    unless: tuple[str, ...] = ()
    """Keywords that override the string."""
    chooses: str = ""
    """The name that the call stands for without a string, such as a class for one database."""


class Setting(Table, frozen=True):
    """A name in the configuration whose value is read as a driver string."""

    name: str
    form: Literal["url", "name", "names", "either"] = "url"
    """``names`` is a list or a tuple of them."""
    key: str | None = None
    """For nested dicts: the key of the string."""
    nested: bool = False
    """True if the strings are the values of a dict."""


class Chooser(Table, frozen=True):
    """A library that chooses a driver by a string, and the places it reads the string from."""

    distribution: str
    language: str
    imports: tuple[str, ...]
    """Packages; a project that uses the library imports one of them."""
    prefixes: tuple[str, ...] = ()
    """Prefixes before the scheme, such as ``db+``."""
    readings: tuple[DriverArgument, ...] = ()
    settings: tuple[Setting, ...] = ()
    made_by: tuple[str, ...] = ()
    """The calls that read the settings; where no code shows these, another file does."""
    loads: tuple[str, ...] = ()
    """The calls that import the driver: each reads a string itself, or all strings that are read
    (`loads_all`)."""
    loads_all: bool = False


class Query(Table, frozen=True):
    """The calls by which a library sends statements through a driver."""

    distribution: str
    languages: tuple[str, ...]
    """The languages of the strings that choose the driver."""
    imports: tuple[str, ...]
    """Packages; a project that uses the library imports one of them."""
    symbols: tuple[str, ...]
    """The calls."""
    sender: CallArgument | None = None
    """The argument that sends the statement, such as an engine; None for the object of the call."""
