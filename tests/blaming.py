"""Programs drawn at random that block their hub, with the truth about each block.

A program is a row of functions. Each holds one piece that blocks, between statements that do not,
and in one of several shapes. What the probe records of it is compared with what the program itself
knows: the piece's function, the name of the call, and when it ran.
"""

from __future__ import annotations

import random
import textwrap
from typing import NamedTuple

import probed

HUBS = ("idle", "turning", "busy")

_SETUP = '''
import ctypes, gc, hashlib, json, os, pickle, re, select, subprocess, sys, threading, time, zlib
from gevent import monkey
original_select = select.select
original_lock = threading.Lock
monkey.patch_all()
import gevent
from gevent.monkey import get_original
import warnings; warnings.simplefilter("ignore")

pause = get_original("time", "sleep")
native_socket = get_original("socket", "socket")
clock = time.perf_counter
free, kept = ctypes.CDLL(None), ctypes.PyDLL(None)
free.usleep, kept.usleep, kept.poll


def settle(seconds=0.12):
    end = clock() + seconds
    while clock() < end:
        gevent.sleep(0.005)


def worked(seconds):
    """How much work of a kind fits into so many seconds here and now."""
    def sized(make, start):
        size = start
        while True:
            began = time.thread_time()
            make(size)
            took = time.thread_time() - began
            if took > 0.02 or size > 50_000_000:
                return max(1, int(size * seconds / max(took, 0.001)))
            size *= 2
    return sized


def tick():
    while True:
        gevent.sleep(0.01)


def busy():
    while True:
        end = time.thread_time() + 0.0005
        while time.thread_time() < end:
            pass
        gevent.sleep(0)


data = os.urandom(200_000) * 150
numbers = [str(n * 7919 % 1000003) for n in range(400_000)]
rows = [{"a": 1.5, "b": "text"}] * 60_000
wide = list(range(3_000_000))
same = list(range(3_000_000))
big, other = (1 << 1_200_000) - 12345, (1 << 1_200_000) - 999
kept_log = []
class Holder:
    def __init__(self):
        self.lib, self.text, self.items = kept, "x", [1, 2]
    def quiet(self):
        return self.text
holder = Holder()
def helper():
    return 5
shares = [0.0, 0.0]
def SHARES(*parts):
    shares[:] = parts
def note(value):
    kept_log.append(value)
'''


class Piece(NamedTuple):
    """Something that blocks."""

    family: str
    code: str
    symbol: str | None = None
    """The callee, if one call is to blame."""
    setup: str = ""
    entered: bool = False

    @property
    def is_clocked(self) -> bool:
        """Return whether a clock ends it, so that a fast machine does not make it shorter."""
        return self.family in ("waits", "held-waits", "python")


def _waits(seconds):
    micro = int(seconds * 1e6)
    return [
        Piece("waits", f"pause({seconds})", "time.sleep"),
        Piece("waits", f"original_select([], [], [], {seconds})", "select.select"),
        Piece("waits", f"free.usleep({micro})", "ctypes.CFuncPtr.__call__"),
        Piece("waits", f"held.acquire(True, {seconds})", "threading.Lock.acquire",
              "held = original_lock(); held.acquire()"),
        Piece("waits", f"os.system('sleep {seconds}')", "os.system"),
        Piece("waits", "peer.recv(10)", "socket.socket.recv",
              f"peer = native_socket(2, 2); peer.bind(('127.0.0.1', 0)); "
              f"peer.setsockopt(1, 20, __import__('struct').pack('ll', 0, {micro}))"),
    ]  # fmt: skip


def _held(seconds):
    micro, milli = int(seconds * 1e6), int(seconds * 1000)
    return [
        Piece("held-waits", f"kept.usleep({micro})", "ctypes.CFuncPtr.__call__"),
        Piece("held-waits", f"kept.poll(None, 0, {milli})", "ctypes.CFuncPtr.__call__"),
        Piece("held-waits", f"holder.lib.usleep({micro})", "ctypes.CFuncPtr.__call__"),
        Piece("held-works", "sorted(numbers[:size])", None),
        Piece("held-works", "sorted(some)", "builtins.sorted",
              f"some = numbers[:worked({seconds})(lambda n: sorted(numbers[:n]), 5000)]"),
        Piece("held-works", "json.dumps(many)", "json.dumps",
              f"many = rows[:worked({seconds})(lambda n: json.dumps(rows[:n]), 1000)]", True),
        Piece("held-works", "pickle.dumps(many)", "pickle.dumps",
              f"many = [str(n) for n in range(worked({seconds})"
              "(lambda n: pickle.dumps([str(i) for i in range(n)]), 1000) * 2)]"),
        Piece("held-works", "re.match(r'(a+)+$', text)", "re.match",
              "text = 'a' * 22 + 'b'", True),
        Piece("held-works", "pattern.match(text)", "re.Pattern.match",
              "pattern = re.compile(r'(a+)+$'); text = 'a' * 22 + 'b'"),
        Piece("held-works", "sum(many)", "builtins.sum",
              f"many = wide * max(1, worked({seconds})(lambda n: sum(wide[:n]), 10000) "
              "// len(wide) + 1)"),
        Piece("held-works", "max(many)", "builtins.max",
              f"many = wide * max(1, worked({seconds})(lambda n: max(wide[:n]), 10000) "
              "// len(wide) + 1)"),
    ]  # fmt: skip


def _free(seconds):
    return [
        Piece("free-works", "hashlib.pbkdf2_hmac('sha256', b'x', b'y', size)",
              "hashlib.pbkdf2_hmac",
              f"size = worked({seconds})"
              "(lambda n: hashlib.pbkdf2_hmac('sha256', b'x', b'y', n), 1000)"),
        Piece("free-works", "zlib.compress(part, 6)", "zlib.compress",
              f"part = data[:worked({seconds})(lambda n: zlib.compress(data[:n], 6), 10000)]"),
        Piece("free-works", "hashlib.sha512(part)", "hashlib.openssl_sha512",
              f"part = data * (1 + worked({seconds})"
              "(lambda n: hashlib.sha512(data[:n]), 10000) // len(data))"),
    ]  # fmt: skip


def _python(seconds):
    loop = "end = time.thread_time() + {0}\nwhile time.thread_time() < end:\n    {1}"
    return [
        Piece("python", loop.format(seconds, body))
        for body in (
            "pass",
            "sum(range(20000)); os.path.exists('/nonexistent')",
            "os.urandom(16)",
            "os.stat('/')",
            "sum(range(100000)); os.getpid(); pause(0)",
            "sum(range(250000)); os.stat('/')",
            "helper(); note(None); kept_log.clear()",
            "json.dumps(rows[:20])",
            "re.match('a+b', 'aaaab'); os.urandom(1)",
        )
    ]


def _operators(seconds):
    return [
        Piece("operator", "x = big * other", setup=""),
        Piece("operator", "x = -1 in many",
              setup=f"many = wide * max(1, worked({seconds})"
              "(lambda n: -1 in wide[:n], 10000) // len(wide) + 1)"),
        Piece("operator", "x = many == more",
              setup=f"count = max(1, worked({seconds})"
              "(lambda n: wide[:n] == same[:n], 10000) // len(wide) + 1); "
              "many, more = wide * count, same * count"),
        Piece("operator", "x = big // 7919 * other // 17"),
        Piece("operator", "x = f'{huge}'",
              setup="sys.set_int_max_str_digits(0) if hasattr(sys, 'set_int_max_str_digits') "
              "else None; huge = 7 ** 60_000"),
        Piece("release", "del trash", setup="trash = [[] for _ in range(3_000_000)]"),
        Piece("release", "trash = None", setup="trash = [{} for _ in range(2_000_000)]"),
        Piece("release", "len(box.pop())", setup="box = [[[] for _ in range(3_000_000)]]"),
        Piece("release", "box.clear()", "builtins.list.clear",
              setup="box = [[] for _ in range(3_000_000)]"),
    ]  # fmt: skip


def _others(seconds):
    slow = "from gevent.monkey import get_original; pause = get_original('time', 'sleep'); "
    slow += f"pause({seconds})"
    return [
        Piece("import", "import slow_module_{number}", "time.sleep",
              f"open('slow_module_{{number}}.py', 'w').write({slow!r})"),
        Piece("gc", "gc.collect()", None, "trash = [[] for _ in range(1_500_000)]"),
        Piece("mixed", f"p = clock(); pause({seconds / 2}); q = clock(); "
              f"free.usleep({int(seconds * 5e5)}); SHARES(q - p, clock() - q)",
              "time.sleep ctypes.CFuncPtr.__call__"),
        Piece("mixed", f"p = clock(); kept.usleep({int(seconds * 6e5)}); q = clock(); "
              "os.stat('/'); sorted(numbers); SHARES(q - p, clock() - q)",
              "ctypes.CFuncPtr.__call__ builtins.sorted"),
    ]  # fmt: skip


_BEFORE = (
    "pass", "count = 0", "label = 'x' * 3", "started = clock()", "note(1)", "helper()",
    "kept_log.append(2)", "got = holder.quiet()", "value = os.getpid()", "x = 3 * 4 + 1",
    "items = [1, 2, 3]", "text_ = f'{len(numbers)}'",
)  # fmt: skip
_AFTER = (
    "pass", "os.getpid()", "helper()", "len(numbers)", "os.stat('/')", "note(3)", "ended = clock()",
    "kept_log.clear()", "y = 5 + 6", "time.time()",
)  # fmt: skip
_SHAPES = (
    "{piece}",
    "if kept_log is not None:\n    {piece}",
    "for index in range(1):\n    {piece}",
    "with open(os.devnull) as file:\n    {piece}",
    "try:\n    {piece}\nexcept ZeroDivisionError:\n    pass",
    "{piece}",
)
FAMILIES = {
    "waits": _waits, "held": _held, "free": _free, "python": _python, "operators": _operators,
    "others": _others,
}  # fmt: skip
_WEIGHTS = (6, 7, 2, 4, 4, 2)


class Drawn(NamedTuple):
    """One function of a program."""

    name: str
    piece: Piece
    source: str


def drawn(seed: int, count: int) -> list[Drawn]:
    """Draw functions that block."""
    dice = random.Random(seed)
    found = []
    while len(found) < count:
        seconds = round(dice.uniform(0.16, 0.4), 3)
        (make,) = dice.choices(list(FAMILIES.values()), _WEIGHTS)
        piece = dice.choice(make(seconds))
        if "size" in piece.code and "size =" not in piece.setup:
            continue
        number = len(found)
        code = piece.code.replace("{number}", f"{seed}_{number}")
        shape = dice.choice(_SHAPES)
        before = [dice.choice(_BEFORE) for _ in range(dice.randrange(3))]
        after = [dice.choice(_AFTER) for _ in range(dice.randrange(3))]
        indent = " " * 4 if "    {piece}" in shape else ""
        body = shape.replace("{piece}", code.replace("\n", f"\n{indent}"))
        lines = "\n".join([*before, body, *after])
        setup = piece.setup.replace("{number}", f"{seed}_{number}")
        name = f"block_{number}"
        # What a piece needs is made in an enclosing function or is global; `del` needs a local.
        own = piece.family == "release"
        source = f"def make_{number}():\n"
        if not own:
            source += textwrap.indent(setup or "pass", "    ") + "\n"
        source += f"    def {name}():\n"
        if own:
            made = setup.replace("; ", "\n")
            source += textwrap.indent(f"{made}\ngevent.sleep(0.12)\nSTART()", " " * 8) + "\n"
        source += textwrap.indent(lines, " " * 8) + "\n"
        source += f"    return {name}\n"
        found.append(Drawn(name, piece, source))
    return found


def program(seed: int, count: int, hub: str) -> tuple[str, list[Drawn]]:
    """Return a script that blocks so many times, and what it holds."""
    functions = drawn(seed, count)
    lines = [_SETUP, f"HUB = {hub!r}", "started_at = [0.0]", "def START():",
             "    started_at[0] = time.time()"]  # fmt: skip
    lines += [each.source for each in functions]
    lines.append(
        textwrap.dedent("""
        gc.disable()
        if HUB == "turning":
            gevent.spawn(tick)
        if HUB == "busy":
            gevent.spawn(busy); gevent.spawn(busy)
        def run(name, function):
            settle()
            started_at[0], cpu = time.time(), time.thread_time()
            gevent.spawn(function).join()
            took, cpu = time.time() - started_at[0], time.thread_time() - cpu
            print(name, started_at[0], took, cpu, *shares, flush=True)
            settle()
        settle(0.3)
        """)
    )
    for number, each in enumerate(functions):
        lines.append(f"run({each.name!r}, make_{number}())")
    lines.append("os._exit(0) if False else None")
    return "\n".join(lines), functions


class Case(NamedTuple):
    """A block, what was true of it and what the probe says."""

    drawn: Drawn
    seconds: float
    kind: str | None
    confidence: str | None
    symbol: str | None
    function: str | None
    candidates: tuple[str, ...] = ()
    cpu: float = 0.0
    """Seconds on a processor."""
    shares: tuple[float, ...] = ()
    """Seconds of the calls of a mixed piece."""

    @property
    def is_wrong(self) -> bool:
        """Return whether something was said for certain that is not so."""
        if self.confidence != "exact":
            return False
        if self.drawn.piece.family == "mixed":
            names = self.drawn.piece.symbol.split()
            return self.symbol != names[self.shares.index(max(self.shares))]
        if self.drawn.piece.symbol is None or self.symbol not in (None, self.drawn.piece.symbol):
            return True
        is_import = self.drawn.piece.family == "import"
        return not is_import and self.function != self.drawn.name

    @property
    def counts(self) -> bool:
        """Return whether one call is to blame: a wait, or a call that keeps the GIL."""
        piece = self.drawn.piece
        if piece.family == "held-works" and self.cpu < 0.11:
            return False  # it was the host that made it long
        return piece.symbol is not None and piece.family in ("waits", "held-waits", "held-works")


def run(seed: int, count: int, hub: str, folder, *, executable=None) -> list[Case]:
    """Run a program that was drawn and return its blocks of 0.12 s and more."""
    source, functions = program(seed, count, hub)
    by_name = {each.name: each for each in functions}
    result = probed.run(
        source,
        folder,
        prelude="",
        timeout=240,
        **({"executable": executable} if executable else {}),
    )
    assert 0 == result.returncode, f"seed {seed}: {result.stderr}"
    cases, blocks = [], result.blocks()
    for line in result.stdout.splitlines():
        name, *figures = line.split()
        begun, lasted, cpu, *shares = map(float, figures)
        if lasted < 0.12:
            continue
        inside = [
            (min(begun + lasted, b["t"] + b["duration"]) - max(begun, b["t"]), number)
            for number, (b, _) in enumerate(blocks)
        ]
        overlap, number = max(inside, default=(0.0, 0))
        if overlap < 0.05:
            cases.append(Case(by_name[name], lasted, None, None, None, None, (), cpu))
            continue
        block, site = blocks[number]
        user = (site or {}).get("user") or {}
        function = user.get("function", "").split(".")[-1] or None
        cases.append(
            Case(by_name[name], lasted, block["class"], block["confidence"],
                 (site or {}).get("symbol"), function, tuple(block.get("candidates", ())),
                 cpu, tuple(shares))
        )  # fmt: skip
    return cases
