"""Libraries: the meaning of the names of packages, and what they run elsewhere."""

from __future__ import annotations

from typing import Literal

import msgspec

from gblock.catalog.blockers import Condition
from gblock.catalog.tables import CallArgument, Table

ITSELF, ELEMENT, ELEMENTS, ONE_OR_MANY = "self", "element", "elements", "one or many"
"""In the place of a class: an object like the receiver, an object that the receiver is about, a
container of such objects, and either of the two."""
OF_THE_RECEIVER = frozenset((ITSELF, ELEMENT, ELEMENTS, ONE_OR_MANY))
TYPE = "type["
"""The start of a type that is a class itself: ``type[sqlalchemy.orm.DeclarativeBase]``."""


class Variant(Condition, frozen=True):
    """Argument values with which a call returns an object of another class."""

    returns: str = ""
    """The class; it may be one that the package does not have, with bases in `Library.bases`."""


class Modelled(Table, frozen=True):
    """The uses that a class of a library makes of objects of a class that its subclasses name."""

    named_by: tuple[str, ...] = ("Meta.model",)
    """The attributes that name the class, or hold a query for its objects; a method returns one."""
    returned: tuple[str, ...] = ()
    """The methods that return one."""
    attributes: tuple[str, ...] = ()
    """The attributes that hold one."""
    parameters: dict[str, int] = msgspec.field(default_factory=dict)
    """The methods that the library passes one to, each with the position; ``self`` is 0."""


class Inverse(Table, frozen=True):
    """The attribute that a field adds to the objects that it leads to."""

    owner: str
    """The class from which their classes derive."""
    gives: str
    """The class of the attribute's value, or a word as in `Library.returns`."""
    keyword: str
    """The keyword argument that names the attribute."""
    suffix: str = ""
    """The end of its name, after that of the field's class, if no argument names it."""


class Construct(CallArgument, frozen=True):
    """A call that makes objects of a class that it is given, or that it is called on.

    Without `position` and `keyword` the class is the receiver: ``Orders.as_view("orders", bus)``.
    """

    skipped: int = 0
    """The number of positional arguments before those of the constructor."""
    args: str | None = None
    """The keyword argument that holds the constructor's positional arguments."""
    kwargs: str | None = None
    """The keyword argument that holds the constructor's keyword arguments."""
    injects: bool = False
    """True if it takes a function in place of a class, too, and if arguments that can be called
    are: the constructor, or the function, gets what they return."""


class AddedAttribute(CallArgument, frozen=True):
    """A call that adds what a function makes of a request to all requests, as an attribute.

    The inherited fields say where the function is given.
    """

    name_position: int | None = None
    name_keyword: str | None = None
    """The argument with the attribute's name; without it, the function's name."""
    computed_by: tuple[str, ...] = ()
    """Keyword arguments, one of which says that the attribute is the function's result."""


class PassedOn(CallArgument, frozen=True):
    """The result that a call makes of one of its arguments."""

    gives: Literal[
        "itself", "attribute", "callable", "container", "elements", "factory", "field", "named",
        "promise", "result", "results",
    ] = "itself"  # fmt: skip
    """``callable``: a function that calls it; ``container``: one that holds it; ``factory``: one
    that returns it; ``elements``: an iterable of its elements; ``result``: what it returns when
    called; ``results``: an iterable of that; ``promise``: an object whose ``get()`` returns that;
    ``field``: the default of a class's field; ``named``: what the string names:
    ``package.module:name``; ``attribute``: the attribute of the receiver that it names."""
    factory: str | None = None
    """The keyword argument that makes a field's default."""
    setting: str | None = None
    """The setting that names the class which the call returns, whatever its arguments."""


class Library(Table, frozen=True):
    """The meaning of a package's names, for packages whose source cannot be read."""

    distribution: str
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    bases: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The base classes of a class, or of all whose names a pattern matches and no other key says:
    ``package.*Model``. The first pattern counts. One with a wildcard before the last dot, such as
    ``vendor.*_v1.?*Client``, is for classes that nothing else in the catalog names."""
    returns: dict[str, str] = msgspec.field(default_factory=dict)
    """The class of what a call returns, or a word for what has to do with its receiver: ``self``;
    of a generic class ``element``, ``elements`` and ``one or many``. ``type[…]`` is a class itself.
    So in `returns_first`, `attributes`, `elements` and `fields`."""
    returns_first: dict[str, str] = msgspec.field(default_factory=dict)
    """The type of the first member of the tuple that a call returns."""
    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    """``package.Table.*`` stands for each attribute that nothing in the catalog names: a column."""
    elements: dict[str, str] = msgspec.field(default_factory=dict)
    generic: dict[str, str] = msgspec.field(default_factory=dict)
    """Classes whose objects are about the objects of one class, as a query is about its model's,
    each with that class where the code does not say it; else empty."""
    about: dict[str, CallArgument] = msgspec.field(default_factory=dict)
    """Calls of which an argument says what their result is about: a class, its name, a query.
    Elsewhere it is the class that they are called on, or what their receiver is about."""
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """Descriptors, each with what reading it from an object gives."""
    inverse: dict[str, Inverse] = msgspec.field(default_factory=dict)
    """Fields that add an attribute to the objects that they lead to."""
    decorates: dict[str, str] = msgspec.field(default_factory=dict)
    """The class of a function after a decorator was applied to it."""
    mixes_in: dict[str, str] = msgspec.field(default_factory=dict)
    """Decorators of classes, each with the class whose methods it adds."""
    binds: dict[str, str] = msgspec.field(default_factory=dict)
    """The keyword argument of such a decorator that passes the object as the first argument."""
    decorated_by: dict[str, str] = msgspec.field(default_factory=dict)
    """The keyword argument of such a decorator that names the class of what it makes."""
    conditions: dict[str, tuple[Condition, ...]] = msgspec.field(default_factory=dict)
    """Arguments with which a call returns a type other than `returns` says."""
    variants: dict[str, tuple[Variant, ...]] = msgspec.field(default_factory=dict)
    """Arguments with which a call returns an object of another class that is known."""
    chosen: dict[str, CallArgument] = msgspec.field(default_factory=dict)
    """Arguments that name, or create, the class of the object that a call returns."""
    modelled: dict[str, tuple[Modelled, ...]] = msgspec.field(default_factory=dict)
    """Classes whose subclasses name a model, a form or the like: forms, serializers, views."""
    constructs: dict[str, Construct] = msgspec.field(default_factory=dict)
    """Calls that make objects of a class, later and with arguments that they are given."""
    conventional: dict[str, str] = msgspec.field(default_factory=dict)
    """Parameters and attributes that a framework fills and that all code names alike: ``request``,
    each with its class where nothing else says it."""
    settings: tuple[str, ...] = ()
    """Objects with the names of the project's settings modules: ``django.conf.settings``."""
    adds: dict[str, AddedAttribute] = msgspec.field(default_factory=dict)
    """Calls that add an attribute to requests."""
    runs: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Calls that run methods of the object, or of each object, that they return."""
    passes: dict[str, PassedOn] = msgspec.field(default_factory=dict)
    """Calls whose result is made of an argument."""
    immediate: tuple[str, ...] = ()
    cooperative: tuple[str, ...] = ()
    cooperative_subclasses: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Classes of which cooperative ones derive, with these. An object that an annotation declares
    to be of the class may be of one of them."""
    implemented: tuple[str, ...] = ()
    """Methods that classes of the project implement for the library's own code to call. A call of
    one in the project is a call of the library's method, too."""
    readiness: tuple[str, ...] = ()
    """Callables that return the objects, or descriptors, that can be read or written at once."""
    awaiting: tuple[str, ...] = ()
    """Callables that return once their argument, an object or a descriptor, is ready."""
    callbacks: tuple[str, ...] = ()
    """Callables that call a function once an object can be read or written at once."""
    distributed_as: tuple[str, ...] = ()
    """Other distributions that contain the same package, or its compiled part."""
    required_by: tuple[str, ...] = ()
    """Other distributions that require this one: it is installed with them."""


class Offload(Table, frozen=True):
    """A call that runs a callable in another thread or greenlet."""

    symbol: str
    thread: Literal["native", "greenlet", "hub", "same"]
    """``greenlet``: under monkey patching the callable stays in the hub's thread; ``hub``: it
    always does, as gevent's own greenlets do, and only a blocker that is itself handed over is
    reported there; ``same``: it runs in the greenlet that makes the call."""
    argument: int | None = None
    keyword: str | None = None
    each: bool = False
    """True if it runs once for each element of the other arguments."""
    method: str | None = None
    """The method of a subclass that runs there: a thread's ``run``."""

    @property
    def starts_thread(self) -> bool:
        """True if the callable runs in a thread, of which a monkey patch may make a greenlet.

        Elsewhere entries, or the context of the call, say what runs it.
        """
        return self.thread in ("native", "greenlet")

    @property
    def is_inline(self) -> bool:
        """True if the callable runs in the greenlet that makes the call."""
        return self.thread == "same"


class Handler(Table, frozen=True):
    """A decorator for functions that run once for each task or request."""

    symbol: str
    runs: Literal["task", "request"]
