"""Name the callable that a frame is calling, from its bytecode, without running host code.

No property, no `__getattr__`, no `__eq__` of the host is ever called, and no value is kept: only
names of types, modules and functions. The instruction at the frame's `f_lasti` is a call; walking
back over the stack effects of its arguments leads to the expression that was called, and if that
is a chain of names and attributes, it is looked up in the namespaces themselves.
"""

from __future__ import annotations

import dis
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    # ("fast", name), ("global", name), ("name", name), ("attr", expression, name), ("super",)
    Expression = tuple[object, ...]

# The names in C code → the names as imported. The longest prefix wins.
_ALIASES = {
    "MySQLdb._mysql": "MySQLdb",
    "_asyncio": "asyncio",
    "_bcrypt": "bcrypt",
    "_brotli": "brotli",
    "_bz2": "bz2",
    "_crypt": "crypt",
    "_csv": "csv",
    "_ctypes": "ctypes",
    "_curses": "curses",
    "_duckdb": "duckdb",
    "_functools": "functools",
    "_hashlib": "hashlib",
    "_heapq": "heapq",
    "_io": "io",
    "_json": "json",
    "_ldap": "ldap",
    "_lzma": "lzma",
    "_multiprocessing": "multiprocessing",
    "_mysql": "MySQLdb",
    "_operator": "operator",
    "_pickle": "pickle",
    "_posixsubprocess": "subprocess",
    "_pylibmc": "pylibmc",
    "_queue": "queue",
    "_regex": "regex",
    "_signal": "signal",
    "_socket": "socket",
    "_sqlite3": "sqlite3",
    "_ssl": "ssl",
    "_ssl._SSLSocket": "ssl.SSLSocket",
    "_struct": "struct",
    "_thread": "threading",
    "_thread.RLock": "threading.RLock",
    "_thread.lock": "threading.Lock",
    "_uuid": "uuid",
    "_yaml": "yaml",
    "_zstd": "compression.zstd",
    "bcrypt._bcrypt": "bcrypt",
    "cimpl": "confluent_kafka",
    "cimpl._AdminClientImpl": "confluent_kafka.admin.AdminClient",
    "confluent_kafka.cimpl": "confluent_kafka",
    "cryptography.hazmat.bindings._rust": "cryptography.hazmat",
    "grpc._cython.cygrpc": "grpc",
    "mariadb._mariadb": "mariadb",
    "nt": "os",
    "numpy._core._multiarray_umath": "numpy",
    "numpy.core._multiarray_umath": "numpy",
    "posix": "os",
    "psycopg2._psycopg": "psycopg2.extensions",
    "psycopg2._psycopg._connect": "psycopg2.connect",
    "pymssql._mssql": "pymssql",
    "pymssql._pymssql": "pymssql",
    "pysqlite3._sqlite3": "pysqlite3",
    "re._sre": "re",
    "select.epoll": "select.epoll",
    "zmq.backend.cython._zmq": "zmq",
}

_OPTIMIZED, _VARIABLES = 0x01, {"locals", "vars", "dir", "eval", "exec", "globals"}
_SNAPSHOTS = sys.version_info < (3, 13)
CALLS = {
    "CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_METHOD", "CALL_FUNCTION_EX",
    "PRECALL",
}  # fmt: skip
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_CACHE: dict[tuple[types.CodeType, int], tuple[bool, Expression | None]] = {}
_CACHED = 2000
STATIC_MRO = type.__dict__["__mro__"].__get__
"""Reads a type's bases, without its metaclass."""
_TYPE_MODULE = type.__dict__["__module__"].__get__
_TYPE_NAME = type.__dict__["__qualname__"].__get__
_TYPE_DICT = type.__dict__["__dict__"].__get__
_MODULE_DICT = vars(types.ModuleType)["__dict__"].__get__
_RESUME = dis.opmap.get("RESUME")
MISSING = object()
"""Stands for an unknown value."""
PYTHON = ""
"""Stands for a Python function, which has a frame of its own while it runs."""
# Types whose instances, as class attributes, can be used as they are.
_PLAIN = frozenset(
    {
        types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
        types.WrapperDescriptorType, types.ClassMethodDescriptorType, staticmethod, classmethod,
    }
)  # fmt: skip


def callable_at(frame: types.FrameType) -> tuple[str | None, bool]:
    """Return the name of the frame's callee, and whether the frame stands at a call.

    A Python function has a frame of its own while it runs, so it is not the callee here: the
    thread was interrupted between two instructions.
    """
    is_call, expression = _plan(frame.f_code, frame.f_lasti)
    if expression is None:
        return None, is_call
    name = _name(expression, frame)
    return (None, False) if name == PYTHON else (name, is_call)


def begins(frame: types.FrameType) -> bool:
    """Return whether a frame stands at its function's entry and has done nothing yet."""
    last = frame.f_lasti
    return last < 0 or (_RESUME is not None and frame.f_code.co_code[last] == _RESUME)


def instructions(code: types.CodeType) -> list[dis.Instruction]:
    """Return the instructions of a function, without inline caches and prefixes."""
    return [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]


def index_at(listed: Sequence[dis.Instruction], last: int) -> int:
    """Return the index of the instruction at an offset, or -1 before the first."""
    at = -1
    for index, instruction in enumerate(listed):
        if instruction.offset > last:
            break
        at = index
    return at


def called(frame: types.FrameType, listed: Sequence[dis.Instruction], at: int) -> str | None:
    """Return the name of a call's callee, by the current meaning of the frame's names.

    Returns:
        `PYTHON` for a Python function, None if unknown.
    """
    expression = _called(listed, at)
    return None if expression is None else _name(expression, frame)


def called_object(frame: types.FrameType, listed: Sequence[dis.Instruction], at: int) -> object:
    """Return the callee of a call in a frame, `MISSING` if unknown."""
    expression = _called(listed, at)
    if expression is None or expression[0] == "super":
        return MISSING
    return _evaluate(expression, frame)


def arguments(listed: Sequence[dis.Instruction], at: int) -> tuple[int, int]:
    """Return where the instructions of a call's arguments begin and end."""
    if listed[at].opname not in CALLS:
        return at, at
    end, argument = at, listed[at].arg or 0
    name = listed[at].opname
    if name == "PRECALL":
        argument, name = listed[at + 1].arg or 0, listed[at + 1].opname
    elif at and listed[at - 1].opname == "PRECALL":
        end = at - 1
    before = skipped(listed, end - 1, _arguments(name, argument))
    if before is None:
        before = _beginning(listed, at)
    return before + 1, end


def value_at(frame: types.FrameType, listed: Sequence[dis.Instruction], at: int) -> object:
    """Return the current value of a name or attribute that an instruction loads.

    Returns:
        `MISSING` if unknown.
    """
    if listed[at].opname == "LOAD_CONST":
        return listed[at].argval
    expression = _value(listed, at)
    return MISSING if expression is None else _evaluate(expression, frame)


def is_plain_attribute(frame: types.FrameType, listed: Sequence[dis.Instruction], at: int) -> bool:
    """Return whether reading an attribute runs no host code and computes nothing."""
    base = _value(listed, at - 1)
    owner = MISSING if base is None else _evaluate(base, frame)
    name = listed[at].argval
    if owner is MISSING or not isinstance(name, str):
        return False
    if type(owner) is types.ModuleType:
        return attribute_of(owner, name) is not MISSING
    meta = owner if _is_class(owner) else type(owner)
    for base_class in STATIC_MRO(type(owner)):
        own = _TYPE_DICT(base_class)
        if type(own.get("__getattribute__")) is types.FunctionType:
            return False
        # ctypes caches the results of its `__getattr__`; others may compute there.
        if "__getattr__" in own and _module_of(base_class) != "ctypes":
            return False
    for base_class in STATIC_MRO(meta):
        found = _TYPE_DICT(base_class).get(name, MISSING)
        if found is not MISSING and type(found) not in _PLAIN and _has(type(found), "__get__"):
            return type(found) in (types.MemberDescriptorType, types.GetSetDescriptorType)
    return attribute_of(owner, name) is not MISSING


def function_name(frame: types.FrameType) -> str:
    """Return the name of a frame's function as an external caller spells it.

    A method gets the name of the receiver's class if that is in the same package, rather than
    that of the base class that defines it: `MySQLdb.cursors.Cursor.execute`.
    """
    code = frame.f_code
    module = _text(dict.get(frame.f_globals, "__name__"))
    plain = f"{module}.{_text(getattr(code, 'co_qualname', code.co_name))}".replace(".<locals>", "")
    if not code.co_argcount or code.co_varnames[0] not in ("self", "cls"):
        return plain
    owner = local(frame, code.co_varnames[0])
    if owner is MISSING:
        return plain
    cls = owner if _is_class(owner) else type(owner)
    package = module.partition(".")[0]
    named = None
    for base in STATIC_MRO(cls):
        if named is None and _module_of(base).partition(".")[0] == package:
            named = base
        function = _unwrapped(_TYPE_DICT(base).get(code.co_name))
        if type(function) is types.FunctionType and function.__code__ is code:
            return _of_type(named or base, code.co_name)
    return plain


def symbol(name: str) -> str:
    """Return the name as imported for a name in C code."""
    head = name
    while head:
        found = _ALIASES.get(head)
        if found is not None:
            return found + name[len(head) :]
        head = head.rpartition(".")[0]
    return name


def _plan(code: types.CodeType, last: int) -> tuple[bool, Expression | None]:
    key = (code, last)
    found = _CACHE.get(key)
    if found is None:
        if len(_CACHE) >= _CACHED:
            _CACHE.clear()
        try:
            found = _decoded(code, last)
        except Exception:  # noqa: BLE001 - bytecode of another compiler
            found = (False, None)
        _CACHE[key] = found
    return found


def _decoded(code: types.CodeType, last: int) -> tuple[bool, Expression | None]:
    listed = instructions(code)
    at = index_at(listed, last)
    if at < 0:
        return False, None
    name = listed[at].opname
    if name in ("BEFORE_WITH", "SETUP_WITH"):
        context = _value(listed, at - 1)
        return True, context and ("attr", context, "__enter__")
    if name == "FOR_ITER" and at and listed[at - 1].opname == "GET_ITER":
        iterable = _value(listed, at - 2)
        return True, iterable and ("attr", iterable, "__next__")
    return (True, _called(listed, at)) if name in CALLS else (False, None)


def _called(listed: Sequence[dis.Instruction], at: int) -> Expression | None:
    """Return the expression that a call calls."""
    name, argument = listed[at].opname, listed[at].arg or 0
    if name == "PRECALL":
        at, argument = at + 1, listed[at + 1].arg or 0
        name = listed[at].opname
    if listed[at - 1].opname == "PRECALL":  # 3.11 only: it pops the arguments
        at -= 1
    before = skipped(listed, at - 1, _arguments(name, argument))
    if before is not None and "JUMP" not in listed[before].opname:
        return _value(listed, before)
    return _value(listed, _beginning(listed, at))


def _arguments(name: str, argument: int) -> int:
    """Return how many values above the callee a call pops from the stack."""
    if name == "CALL_FUNCTION_EX":
        return 1 + (argument & 1)
    return argument + (name in ("CALL_KW", "CALL_FUNCTION_KW"))


def skipped(listed: Sequence[dis.Instruction], at: int, values: int) -> int | None:
    """Return the last instruction before those that pushed some values."""
    while values > 0:
        if at < 0:
            return None
        instruction = listed[at]
        name = instruction.opname
        if "JUMP" in name or name in ("FOR_ITER", "SEND", "RETURN_VALUE", "END_FOR"):
            return None  # a condition among the arguments: the branch taken is unknown
        has = instruction.opcode >= dis.HAVE_ARGUMENT
        values -= dis.stack_effect(instruction.opcode, instruction.arg if has else None, jump=False)
        at -= 1
    return at if values == 0 else None


def _beginning(listed: Sequence[dis.Instruction], at: int) -> int:
    """Return the last instruction before the arguments of a call, from its place in the source.

    The callee begins where the whole call does, and no argument can; Python 3.11 and later.
    """
    place = getattr(listed[at], "positions", None)
    if place is None or place.lineno is None:
        return -1
    for index in range(at - 1, -1, -1):
        other = listed[index].positions  # type: ignore[attr-defined]
        if (other.lineno, other.col_offset) != (place.lineno, place.col_offset):
            continue
        name = listed[index].opname
        if name.startswith(("LOAD_", "STORE_FAST_LOAD")) and name != "LOAD_CONST":
            return index
    return -1


def _value(listed: Sequence[dis.Instruction], at: int) -> Expression | None:
    """Return the expression whose value an instruction left on top of the stack."""
    if at < 0:
        return None
    instruction = listed[at]
    name, value = instruction.opname, instruction.argval
    while name in ("PRECALL", "KW_NAMES", "PUSH_NULL"):
        at -= 1
        instruction = listed[at]
        name, value = instruction.opname, instruction.argval
    if name in _ATTRIBUTES:
        base = _value(listed, at - 1)
        return base and ("attr", base, value)
    if name == "LOAD_SUPER_ATTR":
        if (instruction.arg or 0) & 2:
            return None  # with arguments of its own
        return ("attr", ("super",), value)
    if name in ("CALL", "CALL_FUNCTION") and not instruction.arg:
        previous = at - 1
        while listed[previous].opname in ("PRECALL", "PUSH_NULL"):
            previous -= 1
        called = listed[previous]
        if called.opname == "LOAD_GLOBAL" and called.argval == "super":
            return ("super",)
        return None
    if name.startswith(("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST")):
        return ("fast", value[1])
    if name.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
        return ("fast", value)
    if name == "LOAD_GLOBAL":
        return ("global", value)
    if name in ("LOAD_NAME", "LOAD_CLASSDEREF"):
        return ("name", value)
    if name in ("IMPORT_FROM", "IMPORT_NAME"):
        return None
    return None


def _name(expression: Expression, frame: types.FrameType) -> str | None:
    """Return the canonical name of an expression's value in a frame.

    The name of a Python function is empty.
    """
    if expression[0] == "attr":
        base, attribute = expression[1], expression[2]
        if not isinstance(base, tuple) or not isinstance(attribute, str):
            return None
        if base == ("super",):
            return _super_name(frame, attribute)
        owner = _evaluate(base, frame)
        if owner is MISSING:
            return None
        if attribute in ("__enter__", "__next__"):
            return _method_name(type(owner), attribute) or _method_name(type(owner), "__iter__")
        found = attribute_of(owner, attribute)
    else:
        found = _evaluate(expression, frame)
    if found is MISSING:
        return None
    return PYTHON if _is_python(found) else described(found)


def _is_python(value: object) -> bool:
    """Return whether calling a value runs a Python function that has a frame of its own."""
    for _ in range(10):
        cls = type(value)
        if cls is types.MethodType:
            value = value.__func__  # type: ignore[attr-defined]
        elif _text(_TYPE_NAME(cls)) == "partial" and _module_of(cls) == "functools":
            value = value.func  # type: ignore[attr-defined]
        else:
            break
    if type(value) is types.FunctionType:
        return True
    if _is_class(value):
        return any(_is_function(value, name) for name in ("__init__", "__new__")) or _is_function(
            type(value), "__call__"
        )
    return _is_function(type(value), "__call__")


def _is_function(cls: object, name: str) -> bool:
    """Return whether a class has its method from Python code."""
    for base in STATIC_MRO(cls):
        found = _unwrapped(_TYPE_DICT(base).get(name, MISSING))
        if found is not MISSING:
            return type(found) is types.FunctionType
    return False


def _evaluate(expression: Expression, frame: types.FrameType) -> object:
    kind = expression[0]
    if kind == "attr":
        base, name = expression[1], expression[2]
        if not isinstance(base, tuple) or not isinstance(name, str) or base == ("super",):
            return MISSING
        owner = _evaluate(base, frame)
        return MISSING if owner is MISSING else attribute_of(owner, name)
    if kind == "super":
        return MISSING
    name = expression[1]
    if not isinstance(name, str):
        return MISSING
    if kind in ("fast", "name"):
        found = local(frame, name)
        if found is not MISSING or kind == "fast":
            return found
    found = dict.get(frame.f_globals, name, MISSING)  # they may be of a class of the host
    return dict.get(frame.f_builtins, name, MISSING) if found is MISSING else found


def local(frame: types.FrameType, name: str) -> object:
    """Return a local variable of a frame, `MISSING` if reading it would leave traces."""
    code = frame.f_code
    if not code.co_flags & _OPTIMIZED:  # a module or the body of a class
        space = frame.f_locals
        return space.get(name, MISSING) if type(space) is dict else MISSING
    if not _SNAPSHOTS:
        return frame.f_locals.get(name, MISSING)
    # Reading creates a snapshot that keeps the host's objects alive, so it is emptied again,
    # unless the host itself may hold it.
    if frame.f_trace is not None or not _VARIABLES.isdisjoint(code.co_names):
        return MISSING
    space = frame.f_locals
    found = space.get(name, MISSING)
    space.clear()
    return found


def _super_name(frame: types.FrameType, attribute: str) -> str | None:
    if not frame.f_code.co_argcount:
        return None
    here, owner = local(frame, "__class__"), local(frame, frame.f_code.co_varnames[0])
    cls = owner if _is_class(owner) else type(owner)
    mro = STATIC_MRO(cls)
    passed = False
    for base in mro:
        if passed and attribute in _TYPE_DICT(base):
            return _of_type(base, attribute)
        passed = passed or base is here
    return None


def _is_class(value: object) -> bool:
    """Return whether a value is a class, without calling its code."""
    return type in STATIC_MRO(type(value))


def attribute_of(owner: object, name: str) -> object:
    """Look up an attribute like `object.__getattribute__`, without running descriptors."""
    if _is_class(owner):
        for base in STATIC_MRO(owner):
            found = _TYPE_DICT(base).get(name, MISSING)
            if found is not MISSING:
                return _unwrapped(found)
        return MISSING
    cls = type(owner)
    on_type: object = MISSING
    for base in STATIC_MRO(cls):
        on_type = _TYPE_DICT(base).get(name, MISSING)
        if on_type is not MISSING:
            break
    kind = type(on_type)
    if kind is types.MemberDescriptorType:  # a slot: C code reads it
        try:
            return on_type.__get__(owner, cls)  # type: ignore[attr-defined]
        except AttributeError:
            return MISSING
    runs_code = on_type is not MISSING and kind not in _PLAIN and _has(kind, "__get__")
    if runs_code and _has(kind, "__set__"):
        return MISSING  # a property or a similar descriptor
    own = own_dict(owner)
    if own is not None:
        found = own.get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING if runs_code else _unwrapped(on_type)


def _has(cls: type, name: str) -> bool:
    return any(name in _TYPE_DICT(base) for base in STATIC_MRO(cls))


def own_dict(owner: object) -> dict[str, object] | None:
    """Return the dictionary of an object's own attributes, if C code alone reads it."""
    if type(owner) is types.ModuleType:
        found = _MODULE_DICT(owner)
        return found if type(found) is dict else None
    for base in STATIC_MRO(type(owner)):
        descriptor = _TYPE_DICT(base).get("__dict__", MISSING)
        if type(descriptor) is types.GetSetDescriptorType:
            found = descriptor.__get__(owner, type(owner))
            return found if type(found) is dict else None
        if descriptor is not MISSING:
            return None
    return None


def _unwrapped(found: object) -> object:
    if type(found) in (staticmethod, classmethod):
        return found.__func__  # type: ignore[attr-defined]
    return found


def _method_name(cls: type, name: str) -> str | None:
    for base in STATIC_MRO(cls):
        if name in _TYPE_DICT(base):
            return _of_type(base, name)
    return None


def _of_type(cls: type, name: str) -> str:
    return f"{_module_of(cls)}.{_text(_TYPE_NAME(cls))}.{name}"


def _module_of(cls: type) -> str:
    try:
        return _text(_TYPE_MODULE(cls)) or "?"
    except AttributeError:
        return "?"


def described(value: object) -> str | None:
    """Return the name of a callable: module and qualified name, without any of its state."""
    cls = type(value)
    if cls is types.BuiltinFunctionType:
        owner = value.__self__  # type: ignore[attr-defined]
        name = _text(value.__name__)  # type: ignore[attr-defined]
        if owner is None or type(owner) is types.ModuleType:
            module = _text(value.__module__)
            return f"{module}.{name}" if module else name
        if _is_class(owner):
            return _method_name(owner, name)
        return _method_name(type(owner), name) or name
    if cls in (
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
    ):
        return _of_type(value.__objclass__, _text(value.__name__))  # type: ignore[attr-defined]
    if cls is types.MethodWrapperType:
        return _method_name(type(value.__self__), _text(value.__name__))  # type: ignore[attr-defined]
    if cls is types.MethodType:
        return described(value.__func__)  # type: ignore[attr-defined]
    if cls is types.FunctionType:
        module = _text(value.__globals__.get("__name__"))  # type: ignore[attr-defined]
        return f"{module}.{_text(value.__qualname__)}"  # type: ignore[attr-defined]
    if _is_class(value):
        return f"{_module_of(value)}.{_text(_TYPE_NAME(value))}"  # type: ignore[arg-type]
    kind = _text(_TYPE_NAME(cls))
    if kind == "partial" and _module_of(cls) == "functools":
        return described(value.func)  # type: ignore[attr-defined]
    if kind == "cython_function_or_method":
        own = own_dict(value) or {}
        name = _text(own.get("__qualname__")) or _text(getattr(value, "__qualname__", None))
        module = _text(own.get("__module__")) or _text(getattr(value, "__module__", None))
        return f"{module}.{name}" if name else None
    return _method_name(cls, "__call__")


def _text(value: object) -> str:
    """Return a name if it is a string: hosts may assign anything to `__qualname__`."""
    return value[:200] if type(value) is str else ""
