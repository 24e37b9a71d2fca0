"""Entries: what starts the code of a project, and in which context."""

from __future__ import annotations

import fnmatch
from typing import Literal

import msgspec

from gblock.catalog.tables import CallArgument, Table

Context = Literal[
    "hub",
    "request",
    "task",
    "greenlet",
    "startup",
    "shutdown",
    "command",
    "migration",
    "test",
    "native-thread",
    "other-process",
]
"""The context in which an entry runs its code."""


class Argument(CallArgument, frozen=True, kw_only=True):
    """A function that takes an entry point as an argument."""

    symbol: str
    method: str = ""
    """The keyword that names the method which runs, if a class is given; without it ``__call__``
    runs."""


class NamedBy(Table, frozen=True):
    """Files that name functions, such as the ``operationId`` of a specification."""

    files: tuple[str, ...]
    """Endings of their names."""
    function: str
    """The key whose value names a function, with its module or without."""
    modules: tuple[str, ...] = ()
    """Keys whose values name modules."""
    within: tuple[Argument, ...] = ()
    """Functions whose argument names the module of functions that the files name without one."""


class Elsewhere(CallArgument, frozen=True, kw_only=True):
    """An argument with which an entry runs in another context, such as in another process."""

    values: tuple[str, ...]
    """Texts, ``True`` or ``False``, or dotted names of constants; ``*`` matches any part."""
    context: Context = "other-process"
    """The context if the argument is one of these and nothing else."""


class Queue(CallArgument, frozen=True):
    """The queue from which workers take a task.

    The inherited fields are those of the decorator's argument that names the queue; `keyword` is
    also the attribute of a task's class.
    """

    default: str = ""
    """The queue of a task that names none; empty if it depends on settings."""
    makers: tuple[str, ...] = ()
    """Calls that make an object of a queue: their first argument names it."""
    default_of_makers: str = ""
    """The name of the queue where such a call has no argument."""
    routed: bool = False
    """True if settings route tasks to queues by their names, and messages name other ones."""


class TaskWorker(Table, frozen=True):
    """The command that runs workers of a framework's tasks."""

    framework: str
    commands: tuple[str, ...]
    queues: tuple[str, ...] = ()
    """The options that name the queues whose tasks it runs; without any it runs all."""
    several: bool = False
    """True if each word after the option names a queue; if not, commas separate them."""
    excludes: tuple[str, ...] = ()
    """The options that name the queues whose tasks it does not run."""
    positional: tuple[str, ...] = ()
    """Subcommands, after which each argument names a queue."""
    valued: tuple[str, ...] = ()
    """The options with a value, where arguments name queues."""
    default: str = ""
    """The queue of a worker whose command names none; empty for all."""
    application: bool = False
    """True if the first argument names the object whose tasks alone it runs."""
    serves: bool = False
    """True if it handles requests; if not, it runs tasks alone."""
    on_gevent: str = ""
    """A pattern of the options and settings that bring the workers onto gevent; where nothing
    starts workers, and no file has it, they are taken for the default ones, which are not."""
    management: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By management command of Django that runs such workers, the command that it stands for."""


class Signal(Table, frozen=True):
    """Calls that run a function which another call on the same object has taken: a signal."""

    framework: str
    connects: tuple[Argument, ...]
    """The calls that take the function, and the decorators; ``*`` matches any part of a name."""
    sends: tuple[str, ...]
    """The calls that run it; ``{name}`` stands for the function's own name."""
    imports: tuple[str, ...] = ()
    """Packages; a project that uses it mentions one. The default is the distribution's name."""
    event: CallArgument | None = None
    """The argument of `connects` that names the event."""
    sent: CallArgument | None = None
    """The argument of `sends` that names the event."""
    shared: bool = False
    """True if all code shares one object: the event alone, or the name, says what is run."""


class Entry(Table, frozen=True):
    """A pattern for functions that a framework, a server or a person starts.

    A function is an entry by its decorator, by its class and name, by the argument that it is
    passed as, or, in a file of a certain name, by its own name.
    """

    framework: str
    """The distribution that starts it; ``python`` if no framework is needed."""
    context: Context
    imports: tuple[str, ...] = ()
    """Packages; a project that uses it mentions one of them, or one that its symbols name. The
    default is the distribution's name."""
    decorators: tuple[str, ...] = ()
    """Dotted names; ``*`` matches any part of a name."""
    arguments: tuple[Argument, ...] = ()
    bases: tuple[str, ...] = ()
    """Dotted names of classes; ``*`` matches any part of a name."""
    methods: tuple[str, ...] = ()
    """Names of methods of these classes; ``*`` matches any part of a name."""
    parameters: tuple[str, ...] = ()
    """The names of the last parameters, such as those of a WSGI callable."""
    files: tuple[str, ...] = ()
    """Patterns of paths below the project's directory."""
    functions: tuple[str, ...] = ()
    """Names of functions in these files, or `within` modules; all code of the files if empty."""
    objects: tuple[Argument, ...] = ()
    """Functions that take an object whose methods are entry points."""
    assigned: tuple[str, ...] = ()
    """Attributes that hold entry points, such as ``paho.mqtt.client.Client.on_*``."""
    marks: tuple[str, ...] = ()
    """Attributes that make a function an entry point when they are set on it."""
    settings: tuple[str, ...] = ()
    """Names of settings whose strings name functions or classes."""
    makers: bool = False
    """True if these functions and classes make, at start-up, what runs: what a function defines and
    returns, the methods of an object."""
    named_by: NamedBy | None = None
    """Files in other formats that name functions."""
    within: tuple[Argument, ...] = ()
    """Functions whose argument names a module or package: its `functions` are entry points."""
    run_by: tuple[Argument, ...] = ()
    """Functions whose argument names one of the `files`, without its ending: a call runs it."""
    only_in: tuple[str, ...] = ()
    """The processes that alone run it: their kind, and the pool if that matters, such as
    ``celery:prefork``."""
    after_patch: bool = False
    """True if it runs after the server has patched, though its file is loaded before."""
    threaded: bool = False
    """True if it runs in a thread, which monkey patching alone turns into a greenlet."""
    elsewhere: Elsewhere | None = None
    queue: Queue | None = None
    """For tasks: what names their queue."""
    sends: bool = False
    """True if a call of the decorated function does not run it, but sends it to what does."""
    unlisted: bool = False
    """True if it stands for all packages that have no entries of their own; the first argument of
    decorators and functions has to be a path, such as ``/orders``."""
    label: str = ""
    """The word before the first argument of a decorator, such as ``event``; by default the HTTP
    method."""

    @property
    def packages(self) -> frozenset[str]:
        """The packages of which a project that uses it mentions one."""
        taking = (one.symbol for one in (*self.arguments, *self.objects))
        symbols = (*self.decorators, *self.bases, *self.assigned, *taking)
        roots = {symbol.partition(".")[0] for symbol in symbols}
        own = self.imports or (self.framework.replace("-", "_"),)
        return frozenset(own).union(root for root in roots if "*" not in root)

    def has_file(self, path: str) -> bool:
        """Return whether a path below the project's directory is one of the `files`."""
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.files)


def fits(symbol: str, pattern: str) -> bool:
    """Return whether a dotted name matches a pattern.

    A pattern names a class as its package exports it; the name of the defining module matches too:
    ``flask.blueprints.Blueprint.route`` is ``flask.Blueprint.route``.
    """
    if symbol == pattern:
        return True
    if "*" in pattern:
        return fnmatch.fnmatchcase(symbol, pattern)
    package, _, exported = pattern.partition(".")
    return (
        exported[:1].isupper()
        and symbol.startswith(f"{package}.")
        and symbol.endswith(f".{exported}")
    )
