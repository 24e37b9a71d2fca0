"""Names of callees, derived from bytecode on the Python that runs the tests."""

from __future__ import annotations

import functools
import sys

import pytest

from gblock.probing import callee

pytestmark = pytest.mark.live
NAMED = {}


def key(value):
    """Runs inside the C function that is named: its caller's frame stands at the call."""
    NAMED["name"] = callee.callable_at(sys._getframe(1))
    return value


class Slots:
    __slots__ = ("items",)


class Holder:
    def __init__(self):
        self.items = [2, 1]
        self.run = sorted
        self.inner = Slots()
        self.inner.items = self.items

    @property
    def hidden(self):
        return self.items

    @functools.cached_property
    def cached(self):
        return self.items

    def method(self, number=1, *more, **options):
        self.items.sort(key=key)


class Own(list):
    def sort(self, **options):
        return super().sort(**options)

    def spelled(self):
        return super(Own, self).sort(key=key)  # noqa: UP008 - this spelling is what is tested


class Wild:
    """Runs code of the host on every access."""

    def __getattr__(self, name):
        return sorted

    def __eq__(self, other):
        raise AssertionError("compared")

    __hash__ = None


def subscript(holder):
    [holder][0].items.sort(key=key)


def global_name(holder):
    sorted(holder.items, key=key)


def with_condition(holder):
    sorted([1 if holder else 2, 3], key=key)


def with_stars(holder):
    sorted(*[holder.items], **{"key": key})  # noqa: PIE804 - as above


def with_nesting(holder):
    len(sorted(list(holder.items), key=key))  # noqa: C414 - as above


def a_local(holder):
    run = sorted
    run(holder.items, key=key)


def a_bound_method(holder):
    sort = holder.items.sort
    sort(key=key)


def a_cell(holder):
    def inner():
        holder.items.sort(key=key)

    inner()


def unbound(holder):
    list.sort(holder.items, key=key)


def a_slot(holder):
    holder.inner.items.sort(key=key)


def a_partial(holder):
    run = functools.partial(sorted, key=key)
    run(holder.items)


def with_locals(holder):
    run = sorted
    run(holder.items, key=key)
    return locals()


def a_property(holder):
    holder.hidden.sort(key=key)


def a_result(holder):
    list(holder.items).sort(key=key)


def wild(holder):
    Wild().anything(holder.items, key=key)


def wild_local(holder):
    it = Wild()
    it.anything(holder.items, key=key)


LIST, SORTED = "builtins.list.sort", "builtins.sorted"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        (SORTED, global_name),
        (SORTED, with_stars),
        (SORTED, with_nesting),
        (SORTED, a_local),
        (LIST, a_bound_method),
        (LIST, a_cell),
        (LIST, unbound),
        (LIST, a_slot),
        (SORTED, a_partial),
        (LIST, Holder.method),
        (SORTED, lambda holder: holder.run(holder.items, key=key)),
        (LIST, lambda holder: Own([2, 1]).sort(key=key)),
        # What cannot be known without running code of the host's has no name.
        (None, a_property),
        (None, a_result),
        (None, subscript),
        (None, wild),
        (None, wild_local),
        (None, with_locals),
        (None, lambda holder: Own([2, 1]).spelled()),
    ],
)
def test_the_callable_has_its_canonical_name(name, call):
    if call is with_locals and sys.version_info >= (3, 13):
        name = SORTED  # reading a local leaves nothing behind there
    # More often than the interpreter needs to specialise the instruction.
    for _ in range(40):
        call(Holder())
        assert (name, True) == NAMED.pop("name")


def test_a_condition_among_the_arguments_is_no_obstacle_where_the_place_is_known():
    with_condition(Holder())

    expected = SORTED if sys.version_info >= (3, 11) else None
    assert (expected, True) == NAMED.pop("name")


def test_a_cached_property_is_read_where_its_value_already_stands():
    holder = Holder()

    def reads():
        holder.cached.sort(key=key)

    holder.__dict__["cached"] = holder.items
    reads()
    assert (LIST, True) == NAMED.pop("name")


def test_a_frame_that_calls_nothing_says_so():
    class Number:
        def __add__(self, other):
            NAMED["name"] = callee.callable_at(sys._getframe(1))
            return self

    Number() + 1
    assert (None, False) == NAMED.pop("name")


def test_loops_and_contexts_are_calls_too():
    class Context:
        def __enter__(self):
            NAMED["name"] = callee.callable_at(sys._getframe(1))

        def __exit__(self, *what):
            pass

    class Numbers:
        def __iter__(self):
            return self

        def __next__(self):
            NAMED["name"] = callee.callable_at(sys._getframe(1))
            raise StopIteration

    context, numbers = Context(), Numbers()
    with context:
        name, is_call = NAMED.pop("name")
    assert (True, True) == (is_call, name.endswith("Context.__enter__"))
    for _ in numbers:
        pass
    name, is_call = NAMED.pop("name")
    assert (True, True) == (is_call, name.endswith("Numbers.__next__"))


def test_reading_leaves_no_snapshot_that_keeps_objects_alive():
    import weakref

    def reads():
        holder = Holder()
        seen = weakref.ref(holder)
        holder.items.sort(key=key)
        del holder
        return seen()

    left = reads()  # pytest's own asserts would hold a snapshot in the function above
    assert ((LIST, True), None) == (NAMED.pop("name"), left)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("confluent_kafka.Consumer.poll", "cimpl.Consumer.poll"),
        ("confluent_kafka.admin.AdminClient.poll", "cimpl._AdminClientImpl.poll"),
        ("socket.socket.recv", "_socket.socket.recv"),
        ("ssl.SSLSocket.read", "_ssl._SSLSocket.read"),
        ("os.waitpid", "posix.waitpid"),
        ("threading.Lock.acquire", "_thread.lock.acquire"),
        ("psycopg2.extensions.cursor.execute", "psycopg2.extensions.cursor.execute"),
        ("psycopg2.connect", "psycopg2._psycopg._connect"),
        ("bcrypt.hashpw", "bcrypt._bcrypt.hashpw"),
        ("positron.waitpid", "positron.waitpid"),
        ("builtins.sorted", "builtins.sorted"),
    ],
)
def test_private_modules_have_the_names_that_people_import(symbol, name):
    assert symbol == callee.symbol(name)
