"""Name what may have held the GIL until a frame let another thread in.

A thread that waits for the GIL gets it at the next point where the interpreter checks for such a
request: after a call of a C function, at a backward jump, at a function's entry. Everything that
ran since the previous point is suspect: the call itself, and each instruction in between that may
take long, such as an operator, the end of a Python function, or the release of an object.
    Only if the call is the sole suspect is it known to have held the GIL.

The points are those of CPython's `ceval.c` (`CHECK_EVAL_BREAKER` in 3.10 to 3.12, `CHECK_PERIODIC`
and `RESUME_CHECK` in 3.13). As everywhere in the probe, no code of the host runs.
"""

from __future__ import annotations

import dis
import sys
import types

from gblock.probing import callee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INLINES = sys.version_info >= (3, 11)
"""True if a Python function returns to its Python caller without a check for requests."""
_LIMIT = 400
"""The limit of instructions to walk back."""
_SMALL = 10_000
"""Items or bits: an operator on smaller values takes a negligible time."""

# Instructions that take a negligible time and release nothing.
_LIGHT = frozenset(
    """
    CACHE COPY COPY_FREE_VARS DUP_TOP DUP_TOP_TWO END_FOR END_SEND EXTENDED_ARG GEN_START
    IS_OP JUMP_FORWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES
    LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_CLASSDEREF LOAD_CLOSURE LOAD_CONST LOAD_DEREF
    LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST
    LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_COMMON_CONSTANT LOAD_GLOBAL LOAD_LOCALS LOAD_NAME
    LOAD_SMALL_INT MAKE_CELL MAKE_FUNCTION NOP NOT_TAKEN POP_BLOCK POP_ITER
    POP_JUMP_BACKWARD_IF_NONE
    POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE
    POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE
    POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE PRECALL PUSH_NULL ROT_FOUR ROT_N ROT_THREE ROT_TWO
    SETUP_FINALLY SET_FUNCTION_ATTRIBUTE SWAP TO_BOOL UNARY_NOT BUILD_TUPLE BUILD_LIST BUILD_MAP
    BUILD_CONST_KEY_MAP BUILD_SLICE CALL_INTRINSIC_1 LIST_TO_TUPLE
    """.split()
)
# What an instruction does, by the beginning of its name.
_WORDS = {
    "an iteration": ("GET_ITER", "FOR_ITER", "GET_YIELD_FROM_ITER", "LOAD_ITER"),
    "a with statement": ("BEFORE_WITH", "BEFORE_ASYNC_WITH", "SETUP_WITH", "LOAD_SPECIAL"),
    "an exception": (
        "CHECK_", "CLEANUP_", "JUMP_IF_NOT_EXC_MATCH", "PREP_RERAISE", "PUSH_EXC_INFO", "RAISE_",
        "RERAISE", "WITH_EXCEPT_START",
    ),
    "formatting": ("BUILD_STRING", "CONVERT_VALUE", "FORMAT_"),
    "a display or its arguments": (
        "BUILD_", "DICT_", "LIST_", "MAP_", "SET_ADD", "SET_UPDATE", "CALL_INTRINSIC",
    ),
    "unpacking": ("UNPACK_",),
    "a generator": ("SEND", "YIELD_", "RETURN_GENERATOR", "GET_AWAITABLE", "ASYNC_GEN"),
    "a match statement": ("GET_LEN", "MATCH_"),
    "the end of a function": ("RETURN_",),
    "a condition": ("JUMP_", "TO_BOOL"),
    "a call": ("CALL", "ENTER_EXECUTOR"),
}  # fmt: skip
_CHECKING_JUMPS = frozenset({"JUMP_BACKWARD", "JUMP_ABSOLUTE"})
_ENTRIES = frozenset({"RESUME", "RETURN_GENERATOR"})
_HANDLERS = frozenset({"SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"})
_LEAVING = frozenset(
    {
        "RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "JUMP_FORWARD",
        "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "INTERPRETER_EXIT",
    }
)  # fmt: skip
_STORES = frozenset({"STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "STORE_DEREF"})
# C functions that return a number, a string or None: releasing the result takes no time.
_PLAIN_RESULTS = (
    "builtins.abs", "builtins.bool", "builtins.bytes", "builtins.callable", "builtins.chr",
    "builtins.divmod", "builtins.float", "builtins.getattr", "builtins.hasattr", "builtins.hash",
    "builtins.hex", "builtins.id", "builtins.int", "builtins.isinstance", "builtins.issubclass",
    "builtins.len", "builtins.list.append", "builtins.list.clear", "builtins.list.extend",
    "builtins.list.sort", "builtins.max", "builtins.min", "builtins.oct", "builtins.ord",
    "builtins.print", "builtins.range", "builtins.repr", "builtins.round", "builtins.setattr",
    "builtins.set.add", "builtins.str", "builtins.sum", "builtins.type", "_ctypes.CFuncPtr",
    "posix.getpid", "posix.urandom", "select.epoll", "_thread.allocate_lock",
)  # fmt: skip
_PLAIN_OWNERS = (
    "builtins.str.", "builtins.bytes.", "builtins.int.", "builtins.float.", "time.", "math.",
    "ctypes.", "_ctypes.",
)  # fmt: skip
# The interpreter runs these without a check for requests afterwards, once specialised.
_UNCHECKED = ("builtins.isinstance", "builtins.len", "builtins.list.append", "builtins.type")
_OPENING = ("_io.open", "io.open", "builtins.open")
_SCALARS = (bool, int, float, complex, type(None), str, bytes)
_SIZED = (str, bytes, list, tuple, dict, set, frozenset, range)
_OPERATORS = {
    "BINARY_ADD": "+", "BINARY_SUBTRACT": "-", "BINARY_MULTIPLY": "*", "BINARY_MODULO": "%",
    "BINARY_FLOOR_DIVIDE": "//", "BINARY_TRUE_DIVIDE": "/", "BINARY_POWER": "**",
    "BINARY_LSHIFT": "<<", "BINARY_RSHIFT": ">>", "BINARY_AND": "&", "BINARY_OR": "|",
    "BINARY_XOR": "^", "BINARY_MATRIX_MULTIPLY": "@", "INPLACE_ADD": "+=",
    "INPLACE_SUBTRACT": "-=", "INPLACE_MULTIPLY": "*=", "INPLACE_MODULO": "%=",
    "INPLACE_FLOOR_DIVIDE": "//=", "INPLACE_TRUE_DIVIDE": "/=", "INPLACE_POWER": "**=",
    "INPLACE_LSHIFT": "<<=", "INPLACE_RSHIFT": ">>=", "INPLACE_AND": "&=", "INPLACE_OR": "|=",
    "INPLACE_XOR": "^=", "UNARY_NEGATIVE": "-", "UNARY_INVERT": "~",
    "BINARY_SUBSCR": "[]", "BINARY_SLICE": "[:]",
}  # fmt: skip

_COMPUTING = frozenset(
    {
        *_OPERATORS, "BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "FORMAT_VALUE", "FORMAT_SIMPLE",
        "BUILD_STRING", "FORMAT_WITH_SPEC",
    }
)  # fmt: skip
_DISPLAYS = ("BUILD_", "LIST_", "SET_", "DICT_", "MAP_")
_MAKING = frozenset({bytearray, bytes, dict, frozenset, list, set, str, tuple})
_ITERATORS = frozenset(map(type, map(iter, ([], (), {}, "", b"", range(0), range(1 << 70)))))


class Suspicion:
    """The operations that may have held the GIL until a frame released it."""

    __slots__ = ("computes", "is_inside", "is_sole", "names", "others", "temporary")

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        is_sole: bool = False,
        is_inside: bool = False,
        others: bool = True,
        temporary: bool = False,
        computes: bool = False,
    ) -> None:
        """Store the result.

        Args:
            names: The suspects, the last to run first.
            is_sole: Whether the call at the frame's instruction is known and the only suspect.
            is_inside: Whether all suspects are parts of the frame's own function.
            others: Whether the call is unknown, or there is another suspect.
            temporary: Whether the only other suspect is the release of the call's arguments, and
                the expression itself has made them.
            computes: Whether all suspects except the call can only compute, not wait.
        """
        self.computes = computes
        self.names = names
        self.is_sole = is_sole
        self.is_inside = is_inside
        self.others = others
        self.temporary = temporary


def suspects(frame: types.FrameType, caller: types.FrameType | None = None) -> Suspicion:
    """Return the operations that may have held the GIL until this frame released it.

    Args:
        frame: The innermost frame.
        caller: The next one.
    """
    try:
        return _suspects(frame, caller)
    except Exception:  # noqa: BLE001 - bytecode of another compiler
        return Suspicion(())


def _suspects(frame: types.FrameType, caller: types.FrameType | None = None) -> Suspicion:
    if callee.begins(frame):
        return Suspicion(tuple(_Walk(caller).before()) if caller is not None else ())
    walk = _Walk(frame)
    name, is_call = callee.callable_at(frame)
    if not is_call:
        return Suspicion(tuple(walk.before(with_own=True)), is_inside=True)
    others = list(walk.before())
    releases, are_new = walk.arguments()
    is_sole = name is not None and not others
    return Suspicion(
        (name or "a call", *others, *releases),
        is_sole=is_sole and not releases,
        is_inside=True,
        others=not is_sole,
        temporary=is_sole and bool(releases) and are_new,
        computes=all(each.startswith(_COMPUTES) for each in others),
    )


class _Code:
    """The instructions of a function, and the predecessors of each."""

    def __init__(self, code: types.CodeType) -> None:
        self.listed = callee.instructions(code)
        index = {each.offset: at for at, each in enumerate(self.listed)}
        self.caught = {index[target] for target in _handlers(code) if target in index}
        self.before: list[list[int]] = [[] for _ in self.listed]
        self.loops = False
        for at, each in enumerate(self.listed):
            if at and self.listed[at - 1].opname not in _LEAVING:
                self.before[at].append(at - 1)
            if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
                target = index.get(each.argval)
                if target is None:
                    continue
                if each.opname in _HANDLERS:
                    self.caught.add(target)
                else:
                    self.before[target].append(at)
                    self.loops = self.loops or target <= at


_CODES: dict[types.CodeType, _Code] = {}


def _code(code: types.CodeType) -> _Code:
    found = _CODES.get(code)
    if found is None:
        if len(_CODES) >= 50:
            _CODES.clear()
        found = _CODES[code] = _Code(code)
    return found


def _handlers(code: types.CodeType) -> Iterator[int]:
    for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
        yield entry.target


class _Walk:
    """The instructions before the one at which a frame stands."""

    def __init__(self, frame: types.FrameType) -> None:
        self._frame = frame
        self._code = _code(frame.f_code)
        self._listed: Sequence[dis.Instruction] = self._code.listed
        self._at = callee.index_at(self._listed, frame.f_lasti)
        self._stored: dict[str, int] = {}
        """The variables that may have been stored since the last check, and the last place."""

    def before(self, *, with_own: bool = False) -> list[str]:
        """Return what may take long since the last check for requests, the last first.

        Args:
            with_own: Whether the instruction itself is suspect, too.
        """
        region, found = self._region()
        self._stored = {name: at for at in sorted(region) for name in self._stores(at)}
        if with_own:
            region.insert(0, self._at)
        for at in region:
            told = self._weight(at)
            if told is not None and told not in found:
                found.append(told)
        return found

    def arguments(self) -> tuple[list[str], bool]:
        """Return the potentially slow releases of the call's own arguments.

        Returns:
            The suspects, and whether all that may be released is as new as the call: a result of
            an operator, a display, or a type. Another call may hand over an old object, such as
            `pop()`, whose release may take long though nothing of the block has made it.
        """
        first, last = callee.arguments(self._listed, self._at)
        are_new, are_suspect = True, False
        for at in range(first, last):
            name = self._listed[at].opname
            if name in callee.CALLS:
                if not _is_plain_result(self._called(at)):
                    are_suspect = True
                    are_new = are_new and self._makes(at)
            elif name not in _LIGHT and name not in _STORES and self._weight(at) is not None:
                are_suspect = True
                are_new = are_new and self._is_making(at)
        return ["the release of its arguments"] if are_suspect else [], are_new

    def _makes(self, at: int) -> bool:
        """Return whether a call returns a new object: a built-in type's, or a sorted list."""
        made = callee.called_object(self._frame, self._listed, at)
        return made is sorted or (type(made) is type and made in _MAKING)

    def _is_making(self, at: int) -> bool:
        """Return whether the result of an instruction is a new object."""
        name = self._listed[at].opname
        if name in ("BINARY_SUBSCR", "BINARY_SLICE") or self._listed[at].argrepr == "[]":
            return False  # the result of a container of an unknown type
        return name in _COMPUTING or name.startswith(_DISPLAYS)

    def _region(self) -> tuple[list[int], list[str]]:
        """Return the instructions that may have run since the last check, and other suspects."""
        found: list[str] = []
        region: list[int] = []
        seen = {self._at}
        waiting = [self._at]
        while waiting:
            here = waiting.pop(0)
            if here in self._code.caught and "an exception" not in found:
                found.append("an exception")
            for at in self._code.before[here]:
                if at in seen:
                    continue
                seen.add(at)
                name = self._listed[at].opname
                if name in _ENTRIES or (name in _CHECKING_JUMPS and _looks(self._listed[at])):
                    continue
                if name in callee.CALLS:
                    if self._listed[at].opname == "PRECALL":
                        waiting.append(at)
                        continue
                    told, goes_on = self._passed(at)
                    if told is not None and told not in found:
                        found.append(told)
                    if goes_on:
                        waiting.append(at)
                    continue
                region.append(at)
                waiting.append(at)
                if len(seen) > _LIMIT:
                    return region, [*found, "code before it"]
        return region, found

    def _called(self, at: int) -> str | None:
        """Return the name of the function that a call calls, empty for a Python function."""
        return callee.called(self._frame, self._listed, at)

    def _passed(self, at: int) -> tuple[str | None, bool]:
        """Return the suspect in an earlier call, and whether to look before the call."""
        called = self._called(at)
        if not _INLINES:
            return None, False
        if called is None:
            return f"a call in line {_line(self._listed, at)}", False
        if called == callee.PYTHON:
            if self._ends_at_once(at):
                return None, True
            return f"the end of a function called in line {_line(self._listed, at)}", False
        return None, called in _UNCHECKED

    def _ends_at_once(self, at: int) -> bool:
        """Return whether a called Python function computes and releases nothing.

        Its arguments are still held by its caller, it has no other variables, and its instructions
        take no time. Then only what the caller did before the call remains.
        """
        function = callee.called_object(self._frame, self._listed, at)
        if type(function) is types.MethodType:
            function = function.__func__
        if type(function) is not types.FunctionType:
            return False
        first, last = callee.arguments(self._listed, at)
        if any(self._listed[each].opname not in _LIGHT for each in range(first, last)):
            return False
        code = function.__code__
        if code.co_nlocals != code.co_argcount or code.co_flags & 0x2AC:
            return False
        return all(
            each.opname in _LIGHT or each.opname in _ENTRIES or each.opname.startswith("RETURN_")
            for each in callee.instructions(code)
        )

    def _stores(self, at: int) -> Iterator[str]:
        name, value = self._listed[at].opname, self._listed[at].argval
        if name == "STORE_FAST_STORE_FAST":
            yield from value
        elif name == "STORE_FAST_LOAD_FAST":
            yield value[0]
        elif name in ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL"):
            yield value

    def _weight(self, at: int) -> str | None:
        """Return the name of an instruction that may take long, else None."""
        instruction = self._listed[at]
        name = instruction.opname
        if name in _LIGHT:
            return None
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            return None if self._is_plain_attribute(at) else self._told(at)
        if name in _STORES:
            kept = all(self._is_first_store(at, each) for each in self._stores(at))
            return None if kept else self._told(at)
        if name == "POP_TOP":
            return None if self._drops_nothing(at) else self._told(at)
        if name in ("GET_ITER", "FOR_ITER"):
            return None if self._iterates_plainly(at) else self._told(at)
        if name == "LIST_EXTEND" and self._listed[at - 1].opname == "LOAD_CONST":
            return None
        if name in ("BEFORE_WITH", "SETUP_WITH") and self._listed[at - 1].opname in callee.CALLS:
            return None if self._called(at - 1) in _OPENING else self._told(at)
        return None if self._is_small(at) else self._told(at)

    def _told(self, at: int) -> str:
        instruction = self._listed[at]
        name = instruction.opname
        line = _line(self._listed, at)
        if name in _OPERATORS:
            what = f"operator {_OPERATORS[name]}"
        elif name == "BINARY_OP":
            what = f"operator {instruction.argrepr}"
        elif name == "COMPARE_OP":
            what = f"comparison {instruction.argrepr}"
        elif name == "CONTAINS_OP":
            what = "operator not in" if instruction.arg else "operator in"
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            what = f"attribute {instruction.argval}"
        elif name.startswith(("STORE_", "DELETE_", "POP_")):
            what = "the release of an object"
        elif name.startswith("IMPORT_"):
            what = f"import of {instruction.argval}"
        else:
            words = (text for text, names in _WORDS.items() if name.startswith(names))
            what = next(words, "an instruction")
        return f"{what} in line {line}"

    def _is_plain_attribute(self, at: int) -> bool:
        if self._listed[at].opname == "LOAD_SUPER_ATTR":
            return False
        return callee.is_plain_attribute(self._frame, self._listed, at)

    def _is_first_store(self, at: int, name: str) -> bool:
        """Return whether a variable held nothing before a store that takes time to release."""
        code = self._frame.f_code
        if code.co_flags & 0x01 == 0:
            return False
        parameters = code.co_argcount + code.co_kwonlyargcount
        parameters += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
        if name in code.co_varnames[:parameters] or name in (*code.co_cellvars, *code.co_freevars):
            return False
        seen, waiting = {at}, [at]
        while waiting:
            for each in self._code.before[waiting.pop()]:
                if each == at or (name in self._stores(each) and each not in seen):
                    return self._only_scalars(name)
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return True

    def _only_scalars(self, name: str) -> bool:
        """Return whether a variable only ever holds small numbers and strings."""
        value = callee.local(self._frame, name)
        if type(value) not in _SCALARS or not _is_small_value(value):
            return False
        places = [at for at in range(1, len(self._listed)) if name in self._stores(at)]
        return len(places) == 1 or all(self._makes_scalar(at - 1) for at in places)

    def _makes_scalar(self, at: int) -> bool:
        instruction = self._listed[at]
        if instruction.opname == "LOAD_CONST":
            return type(instruction.argval) in _SCALARS
        if instruction.opname in callee.CALLS:
            return _is_plain_result(self._called(at))
        return instruction.opname == "BINARY_OP" or instruction.opname in _COMPUTING

    def _drops_nothing(self, at: int) -> bool:
        before = self._listed[at - 1]
        if before.opname in callee.CALLS:
            called = self._called(at - 1)
            return _is_plain_result(called) or (
                called == callee.PYTHON and self._ends_at_once(at - 1)
            )
        return before.opname in ("POP_EXCEPT", "END_FOR", "LOAD_CONST")

    def _iterates_plainly(self, at: int) -> bool:
        while at >= 0 and self._listed[at].opname != "GET_ITER":
            at -= 1
        if at < 1:  # a comprehension gets its iterator as an argument
            return type(callee.local(self._frame, ".0")) in _ITERATORS
        if self._listed[at - 1].opname in callee.CALLS:
            return self._called(at - 1) in ("builtins.range", "builtins.enumerate", "builtins.zip")
        value = callee.value_at(self._frame, self._listed, at - 1)
        return type(value) in _SIZED

    def _is_small(self, at: int) -> bool:
        """Return whether the result of an instruction is small, judged by its operands."""
        if at < 0:
            return False
        instruction = self._listed[at]
        name = instruction.opname
        if name == "LOAD_CONST":
            return _is_small_value(instruction.argval)
        if name == "LOAD_SMALL_INT":
            return True
        if name.startswith(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD")):
            return all(self._is_small_name(each, at) for each in instruction.argval)
        if name.startswith(("LOAD_FAST", "LOAD_DEREF")):
            return self._is_small_name(instruction.argval, at)
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR"):
            return _is_small_value(callee.value_at(self._frame, self._listed, at))
        if name in callee.CALLS:
            return self._called(at) in ("builtins.len", "builtins.isinstance", "builtins.id")
        if name in _COMPUTING:
            return self._is_small_result(at)
        return False

    def _is_small_result(self, at: int) -> bool:
        first = self._operands(at)
        if first is None:
            return False
        instruction = self._listed[at]
        operator = _OPERATORS.get(instruction.opname, instruction.argrepr).strip("=")
        places = self._tops(at, first)
        if not all(self._is_small(each) for each in places):
            return False
        if operator in ("**", "<<", "@"):
            return False
        if instruction.opname == "COMPARE_OP" or operator == "*":
            # Containers are compared recursively, and a string may be repeated without limit.
            values = [value for each in places for value in self._values(each)]
            return all(type(each) in (bool, int, float, str, bytes) for each in values) and (
                operator != "*" or _is_short_product(values)
            )
        return True

    def _tops(self, at: int, first: int) -> list[int]:
        """Return the instructions that produced another one's operands, the last first."""
        tops = []
        here: int | None = at - 1
        while here is not None and here >= first:
            if self._listed[here].opname not in _HARMLESS:
                tops.append(here)
            pushes = 2 if "_LOAD_FAST" in self._listed[here].opname else 1
            here = callee.skipped(self._listed, here, pushes)
        return tops

    def _values(self, at: int) -> list[object]:
        """Return the values that an instruction loads; one unknown value if it computes."""
        name, argument = self._listed[at].opname, self._listed[at].argval
        if name.startswith(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD")):
            return [callee.local(self._frame, each) for each in argument]
        if name == "LOAD_SMALL_INT":
            return [argument]
        if name == "COMPARE_OP":
            return [True]
        return [callee.value_at(self._frame, self._listed, at)]

    def _operands(self, at: int) -> int | None:
        """Return the first instruction of another one's operands."""
        name, argument = self._listed[at].opname, self._listed[at].arg or 0
        values = 2
        if name == "BUILD_STRING":
            values = argument
        elif name.startswith(("UNARY", "FORMAT_SIMPLE")):
            values = 1
        elif name == "FORMAT_VALUE":
            values = 2 if argument & 4 else 1
        elif name == "BINARY_SLICE":
            values = 3
        before = callee.skipped(self._listed, at - 1, values)
        return None if before is None else before + 1

    def _is_small_name(self, name: str, at: int) -> bool:
        """Return whether a variable was small when an instruction loaded it."""
        value = callee.local(self._frame, name)
        if self._stored.get(name, -1) < at:
            return _is_small_value(value)
        # It was stored again since: a counter was small if it still is.
        return (
            type(value) in (bool, int, float, type(None))
            and _is_small_value(value)
            and (self._is_counter(name))
        )

    def _is_counter(self, name: str) -> bool:
        """Return whether the stores of a variable only count: ``n += 1``."""
        for at in range(1, len(self._listed)):
            if name not in self._stores(at):
                continue
            before = self._listed[at - 1]
            operator = _OPERATORS.get(before.opname, before.argrepr).strip("=")
            is_constant = before.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
            if not is_constant and (before.opname not in _COMPUTING or operator not in ("+", "-")):
                return False
        return True


_COMPUTES = ("operator", "comparison", "the release", "the end", "a call", "format", "build_")
_HARMLESS = frozenset({"CACHE", "PUSH_NULL", "PRECALL", "KW_NAMES", "NOP", "LIST_TO_TUPLE"})


def _is_short_product(values: Sequence[object]) -> bool:
    """Return whether the product of some values is small."""
    product = 1
    for value in values:
        if isinstance(value, str | bytes):
            product *= max(len(value), 1)
        elif isinstance(value, int) and any(isinstance(each, str | bytes) for each in values):
            product *= max(value, 1)
    return product < 10 * _SMALL


def _looks(instruction: dis.Instruction) -> bool:
    return instruction.opname != "JUMP_ABSOLUTE" or not _INLINES


def _line(listed: Sequence[dis.Instruction], at: int) -> int:
    """Return the line of an instruction; before Python 3.11 that of the last one with a line."""
    place = getattr(listed[at], "positions", None)
    if place is not None and place.lineno is not None:
        return int(place.lineno)
    while at >= 0:
        if isinstance(listed[at].starts_line, int) and listed[at].starts_line is not True:
            return int(listed[at].starts_line or 0)
        at -= 1
    return 0


def _is_plain_result(name: str | None) -> bool:
    if not name:
        return False
    return name in _PLAIN_RESULTS or name.startswith(_PLAIN_OWNERS)


def _is_small_value(value: object) -> bool:
    kind = type(value)
    if kind is int:
        return bool(value.bit_length() < _SMALL)  # type: ignore[attr-defined]
    if kind in (bool, float, complex, type(None)):
        return True
    return kind in _SIZED and len(value) < _SMALL  # type: ignore[arg-type]
