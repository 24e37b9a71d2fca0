"""Results of reading machine code: of generated images, and of installed modules."""

from __future__ import annotations

import glob
import os
import platform
import struct
import sys
import sysconfig
from typing import ClassVar

import pytest
from elf_images import AARCH64, CODE, DATA, RELEASE, TAKE, X86_64, Module
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.native import code, flow, names, reading, scanning, waits, x86_64
from gblock.native.image import Image, NotReadError
from gblock.native.linking import Libraries, LinkedModule

CALL_RAX = b"\xff\xd0"
IS_READ = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")


def read(module, tmp_path, name="shop.so"):
    path = tmp_path / name
    path.write_bytes(module.image())
    return reading.read(str(path))


def told(module, tmp_path):
    return {one.name: one for one in read(module, tmp_path).methods}


def one_method(tmp_path, *parts, setup=lambda module: None, machine=X86_64):
    """Return the result for a method that consists of these parts."""
    module = Module(machine)
    setup(module)
    number = module.function("shop_method", *parts)
    module.methods(("method", number), owner="shop.Type")
    return told(module, tmp_path)["shop.Type.method"]


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
def test_a_wait_with_the_gil_released_is_named_with_its_chain(tmp_path, machine):
    module = Module(machine)
    inner = module.function("wait_for_socket", "poll")
    outer = module.function("shop_read", RELEASE, inner, TAKE)
    module.methods(("read", outer), owner="shop.Reader")

    (one,) = read(module, tmp_path).methods

    assert ("shop.Reader.read", "waits", ("poll",)) == (one.name, one.tier, one.waits)
    assert ("shop_read", "wait_for_socket", "poll") == one.chain
    assert one.releases
    assert ("network",) == one.classes


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
@pytest.mark.parametrize(
    ("parts", "tier"),
    [
        ((RELEASE, "recv", TAKE), "waits"),
        (("recv",), "held"),
        (("recv", RELEASE, TAKE), "held"),
        ((RELEASE, TAKE, "recv"), "held"),
        (("recv", RELEASE, CALL_RAX, TAKE), "leaves"),
        ((RELEASE, "PyGILState_Ensure", "recv", "PyGILState_Release", TAKE), "held"),
        ((RELEASE, "PyGILState_Ensure", "PyGILState_Release", "recv", TAKE), "waits"),
        ((RELEASE, "compress", TAKE), "leaves"),
        ((RELEASE, CALL_RAX, TAKE), "leaves"),
        (("memcpy",), ""),
        (("pthread_mutex_lock",), ""),
        (("PyObject_Call",), ""),
        ((), ""),
    ],
)
def test_a_tier_says_where_the_gil_was_at_the_wait(tmp_path, parts, tier, machine):
    if machine == AARCH64:
        parts = [b"\x00\x00\x3f\xd6" if part == CALL_RAX else part for part in parts]  # blr x0
    one = one_method(tmp_path, *parts, machine=machine)

    assert tier == one.tier
    assert (tier in ("waits", "leaves")) == one.releases


def test_all_ways_through_a_function_count(tmp_path):
    # je over the release: the call behind both ways is made with and without the GIL.
    jump = b"\x74\x06"
    assert "waits" == one_method(tmp_path, jump, RELEASE, "recv").tier
    # jmp over the taking back, which stands before the wait in the order of addresses.
    over = b"\xeb\x06"
    assert "waits" == one_method(tmp_path, RELEASE, over, TAKE, "recv").tier
    assert "held" == one_method(tmp_path, RELEASE, b"\x90\x90", TAKE, "recv").tier


def test_all_ways_through_a_function_of_aarch64_count(tmp_path):
    over = struct.pack("<I", 0x14000004)  # b over the three instructions of a call
    chosen = struct.pack("<I", 0x54000080)  # b.eq over them
    parts = (RELEASE, over, TAKE, "recv")
    assert "waits" == one_method(tmp_path, *parts, machine=AARCH64).tier
    assert "waits" == one_method(tmp_path, chosen, RELEASE, "recv", machine=AARCH64).tier
    assert "held" == one_method(tmp_path, RELEASE, TAKE, "recv", machine=AARCH64).tier


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
@pytest.mark.parametrize(
    ("work", "other", "tier"),
    [
        (("recv",), 0, "held"),  # a setting decides
        (("recv",), 1, "waits"),  # two functions, one of them beside the release
        (("memcpy",), 0, "leaves"),
        (("pthread_mutex_lock",), 0, "leaves"),
        ((CALL_RAX,), 0, "leaves"),
    ],
)
def test_a_release_around_one_of_two_same_calls_is_optional(tmp_path, machine, work, other, tier):
    if machine == X86_64:
        chosen, over = b"\x74\x13", b"\xeb\x05"  # je over the release, jmp over the other call
    else:
        work = [b"\x00\x00\x3f\xd6" if part == CALL_RAX else part for part in work]
        chosen, over = struct.pack("<I", 0x54000120), struct.pack("<I", 0x14000002)
    module = Module(machine)
    module.function("work", *work)
    module.function("prepare", *work)
    parts = (chosen, RELEASE, 0, TAKE, over, other)
    module.methods(("read", module.function("shop_read", *parts)), owner="shop.Reader")

    one = told(module, tmp_path)["shop.Reader.read"]

    assert (tier, tier != "held") == (one.tier, one.releases)


def test_a_lock_that_is_taken_in_both_states_explains_a_release(tmp_path):
    lock = "pthread_mutex_lock"
    one = one_method(
        tmp_path,
        lock,
        RELEASE,
        lock,
        TAKE,
        setup=lambda module: module.function("make", "pthread_mutexattr_setpshared"),
    )
    assert "waits" == one.tier


@pytest.mark.parametrize(
    "name",
    [
        "_ZN4pyo33err9err_state10PyErrState15make_normalized17h0123456789abcdefE",
        "_RNvMNtNtCs7MpWdNTwp7n_4pyo33err9err_stateNtB2_10PyErrState15make_normalized",
        "_ZN4pyo34sync9once_lock26init_once_cell_py_attached17h0123456789abcdefE",
    ],
)
def test_what_pyo3_releases_for_errors_and_cells_explains_nothing(tmp_path, name):
    module = Module()
    module.function(name, RELEASE, CALL_RAX, TAKE)
    module.methods(("size", module.function("size", 0)), owner="shop.Reader")
    module.methods(("read", module.function("read", 0, "recv")), owner="shop.Reader")

    found = told(module, tmp_path)

    assert ("", "held") == tuple(found[f"shop.Reader.{name}"].tier for name in ("size", "read"))


def test_what_callees_do_to_the_gil_holds_in_the_caller(tmp_path):
    module = Module()
    begin = module.function("begin", RELEASE)
    end = module.function("end", TAKE)
    number = module.function("shop_flush", begin, "connect", end)
    module.methods(("flush", number), owner="shop.Client")

    assert "waits" == told(module, tmp_path)["shop.Client.flush"].tier


def test_functions_that_call_one_another_in_a_circle_end(tmp_path):
    module = Module()
    first = module.function("first", 1)
    module.function("second", 0, "recv", RELEASE, 0, TAKE)
    module.methods(("run", first), owner="shop.Loop")

    assert "waits" == told(module, tmp_path)["shop.Loop.run"].tier


def test_a_type_that_is_called_runs_its_constructor(tmp_path):
    module = Module()
    init = module.function("connection_init", RELEASE, "connect", TAKE)
    name = module.string("shop.connection")
    kind = module.words(1, 0, 0, (name,), 64)
    module.words(*[0] * ((232 - 40) // 8), (DATA + 0x900,))
    module.words(*[0] * ((296 - 240) // 8), (module.address(init),))
    at = module.address(1)
    take = b"\x48\x8d\x3d" + (kind - at - 7).to_bytes(4, "little", signed=True)
    factory = module.function("shop_connect", take, "PyObject_CallFunction")
    close = module.string("close")
    module.data += bytes(0x900 - len(module.data))
    module.words((close,), (module.address(factory),), 1, 0, 0, 0, 0, 0)
    module.methods(("connect", factory), owner="_shop", is_type=False)

    assert "waits" == told(module, tmp_path)["_shop.connect"].tier


def test_a_function_that_is_handed_over_is_called_where_the_pointer_is(tmp_path):
    module = Module()
    wait = module.function("really_wait", "recv")
    helper = module.function("with_released", RELEASE, b"\xff\xd7", TAKE)  # call rdi
    at = module.address(2)
    take = b"\x48\x8d\x3d" + (module.address(wait) - at - 7).to_bytes(4, "little", signed=True)
    method = module.function("shop_get", take, helper)
    module.methods(("get", method), owner="shop.Client")

    one = told(module, tmp_path)["shop.Client.get"]

    assert ("waits", ("recv",)) == (one.tier, one.waits)
    assert ("shop_get", "really_wait", "recv") == one.chain


@pytest.mark.parametrize(
    "helper",
    [
        b"\xff\xd7",  # call rdi
        # push rbp; mov rbp, rsp; mov [rbp-8], rdi; mov rax, [rbp-8]; call rax
        b"\x55\x48\x89\xe5\x48\x89\x7d\xf8\x48\x8b\x45\xf8\xff\xd0",
    ],
)
def test_a_function_that_is_handed_over_keeps_its_own_state_of_the_gil(tmp_path, helper):
    module = Module()
    init = module.function("real_init", RELEASE, "connect", TAKE)
    helper = module.function("call_init", helper)
    at = module.address(2)
    take = b"\x48\x8d\x3d" + (module.address(init) - at - 7).to_bytes(4, "little", signed=True)
    method = module.function("tp_init", take, helper)
    module.methods(("open", method), owner="shop.Client")

    one = told(module, tmp_path)["shop.Client.open"]

    assert ("waits", ("tp_init", "real_init", "connect")) == (one.tier, one.chain)


@pytest.mark.parametrize(("between", "tier"), [("recv", "waits"), (CALL_RAX, "")])
def test_a_function_that_is_handed_over_releases_for_what_it_waits_for_alone(
    tmp_path, between, tier
):
    """Trampolines are handed all kinds of functions, and take and release the GIL in errors."""
    module = Module()
    work = module.function("work", RELEASE, between, TAKE)
    helper = module.function("trampoline", b"\xff\xd7")  # call rdi
    at = module.address(2)
    take = b"\x48\x8d\x3d" + (module.address(work) - at - 7).to_bytes(4, "little", signed=True)
    method = module.function("wrapped", take, helper)
    module.methods(("size", method), owner="shop.Client")

    assert tier == told(module, tmp_path)["shop.Client.size"].tier


def test_modules_of_a_package_share_the_libraries_that_were_parsed(tmp_path):
    asked = []

    def read_file(path):
        asked.append(path)
        return reading.file_bytes(path)

    path = tmp_path / "libshop.so"
    path.write_bytes(Module().image())
    libraries = Libraries(read_file)

    assert libraries.image(str(path)) is libraries.image(str(path))
    assert [str(path)] == asked
    with pytest.raises(NotReadError, match="not a regular file"):
        libraries.image(str(tmp_path / "none.so"))


@pytest.mark.parametrize("name", ["recv", RELEASE, "pthread_mutex_lock", "memcpy"])
def test_a_module_without_waits_has_its_methods_all_the_same(tmp_path, name):
    module = Module()
    module.methods(("read", module.function("shop_read", name)), owner="shop.Reader")
    path = tmp_path / "shop.so"
    path.write_bytes(module.image())

    assert LinkedModule(str(path), reading.file_bytes).may_wait == (name != "memcpy")
    assert ["shop.Reader.read"] == [one.name for one in reading.read(str(path)).methods]


def test_a_lock_counts_where_the_library_shares_it_between_processes(tmp_path):
    parts = (RELEASE, "pthread_mutex_lock", TAKE)
    assert "leaves" == one_method(tmp_path, *parts).tier
    shared = one_method(
        tmp_path,
        *parts,
        setup=lambda module: module.function("make", "pthread_mutexattr_setpshared"),
    )
    assert ("waits", ("process",)) == (shared.tier, shared.classes)


def test_waiting_for_entropy_is_no_wait(tmp_path):
    assert "" == one_method(tmp_path, "getrandom", "poll").tier


def test_properties_slots_and_functions_are_found(tmp_path):
    module = Module()
    wait = module.function("wait", RELEASE, "recv", TAKE)
    module.methods(("fetch", wait), owner="_shop", is_type=False)
    name, doc = module.string("shop.Lazy"), module.string("value")
    module.words((doc,), (module.address(wait),), 0, 0, 0)
    properties = DATA + len(module.data) - 40
    head = module.words(1, 0, 0, (name,), 64)
    module.words(*[0] * ((248 - 40) // 8), (properties,))
    assert head
    slots = module.words(63, (module.address(wait),), 0, 0)
    spec = module.string("shop.Iterator")
    module.words((spec,), 0, 0, (slots,))
    rows = module.methods(("step", wait))
    module.words(64, (rows,), 0, 0)
    full = DATA + len(module.data) - 32
    other = module.string("shop.Made")
    module.words((other,), 0, 0, (full,))

    names = told(module, tmp_path)

    assert {"_shop.fetch", "shop.Lazy.value", "shop.Made.step"} <= set(names)
    assert {"waits"} == {one.tier for one in names.values()}


def test_what_cffi_compiled_is_a_function_of_lib(tmp_path):
    module = Module()
    wrapper = module.function("_cffi_f_nng_recv", RELEASE, 1, TAKE)
    module.function("nng_recv", "pthread_cond_wait")
    direct = module.function("_cffi_d_nng_recv", 1)
    name = module.string("nng_recv")
    module.words((name,), (module.address(wrapper),), 27, (module.address(direct),))

    assert "waits" == told(module, tmp_path)["lib.nng_recv"].tier


def test_bundled_libraries_are_followed_and_missing_ones_named(tmp_path):
    library = Module()
    library.function("send_all", "send")
    (tmp_path / "libshop-1f2e.so.1").write_bytes(library.image())
    module = Module()
    number = module.function("shop_send", RELEASE, "send_all", TAKE)
    module.methods(("send", number), owner="shop.Client")
    module.needed = ["libshop-1f2e.so.1", "libc.so.6", "libgone-77.so.2", "../libevil.so"]

    found = read(module, tmp_path)

    (one,) = found.methods
    assert ("waits", ("shop_send", "send_all", "send")) == (one.tier, one.chain)
    assert ("libgone-77.so.2",) == found.absent
    assert (str(tmp_path / "libshop-1f2e.so.1"),) == found.libraries


def test_a_damaged_library_is_one_that_was_not_found(tmp_path):
    (tmp_path / "libshop.so").write_bytes(b"\x7fELF\x02\x01")
    module = Module()
    module.function("f", "send_all")
    module.needed = ["libshop.so"]

    assert ("libshop.so",) == read(module, tmp_path).absent


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not an ELF file"),
        (b"MZ" + bytes(100), "not an ELF file"),
        (b"\x7fELF\x01\x01" + bytes(100), "not 64-bit little-endian"),
        (b"\x7fELF\x02\x01" + bytes(3), "damaged"),
        (Module(machine=40).image(), "neither x86-64 nor aarch64"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, data, why):
    path = tmp_path / "broken.so"
    path.write_bytes(data)

    found = reading.read(str(path))

    assert () == found.methods
    assert why in found.not_read


def test_what_is_no_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.so")
    assert "not a regular file" == reading.read(str(tmp_path / "pipe.so")).not_read
    assert "not a regular file" == reading.read(str(tmp_path)).not_read


def test_methods_that_are_registered_at_import_are_not_read(tmp_path):
    module = Module()
    module.function("PyInit_shop", "abort")
    module.string("pybind11_builtins")
    assert "pybind11" in read(module, tmp_path).not_read


def sample():
    module = Module()
    inner = module.function("inner", "recv", RELEASE, 1, TAKE)
    outer = module.function("outer", inner, RELEASE, "poll", TAKE, b"\xff\x50\x10")
    module.methods(("get", outer), ("put", inner), owner="shop.Type")
    module.needed = ["libshop.so"]
    return module.image()


SAMPLE = sample()
REGIONS = [(0, 64), (64, 176), (CODE, CODE + 128), (DATA, len(SAMPLE))]


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_bytes_give_a_value_or_a_reason(data):
    """Damage in any part of a file, and files cut off anywhere."""
    image = bytearray(SAMPLE)
    for low, high in data.draw(st.lists(st.sampled_from(REGIONS), min_size=1, max_size=6)):
        at = data.draw(st.integers(low, high - 1))
        values = st.one_of(
            st.binary(min_size=1, max_size=8), st.just(b"\xff" * 8), st.just(bytes(8))
        )
        image[at : at + 8] = data.draw(values)
    end = data.draw(st.one_of(st.just(len(image)), st.integers(0, len(image))))

    found = reading.read("shop.so", lambda path: bytes(image[:end]))

    assert found.methods or found.not_read or found.not_read == ""
    assert all(one.tier in ("", *reading.TIERS) for one in found.methods)


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=400))
def test_bytes_of_no_form_are_not_read(data):
    with pytest.raises(NotReadError):
        Image(b"\x7fELF\x02\x01" + data)


needs_readable = pytest.mark.skipif(not IS_READ, reason="the files of this system are not read")


def lib_dynload(name):
    """The functions of a module of this Python, or none: some are built into the interpreter."""
    folder = os.path.join(sysconfig.get_path("stdlib"), "lib-dynload")
    found = glob.glob(os.path.join(folder, f"{name}.*.so"))
    return {one.name: one for path in found for one in reading.read(path).methods}


@needs_readable
def test_modules_of_this_python_let_go_of_the_gil_around_their_waits():
    sockets, locks = lib_dynload("_socket"), lib_dynload("_multiprocessing")
    cases = [
        (sockets, "socket.recv", "recv"),
        (sockets, "socket.connect", "connect"),
        (sockets, "socket.sendall", "send"),
        (locks, "SemLock.acquire", "sem_wait"),
    ]
    assert sockets or locks
    for methods, name, wait in cases:
        for one in (methods[each] for each in methods if each.endswith(f".{name}")):
            assert "waits" == one.tier, name
            assert wait in one.waits
    for methods, name in ((sockets, "socket.fileno"), (locks, "SemLock._get_value")):
        assert {""} >= {methods[each].tier for each in methods if each.endswith(f".{name}")}
    named = [each for methods in (sockets, locks) for each in methods]
    assert any(each.endswith((".recv", ".acquire")) for each in named)


@needs_readable
def test_modules_of_this_python_that_only_compute_reach_no_wait():
    computing = ("_struct", "binascii", "_json", "_heapq", "_zoneinfo", "audioop")
    found = {module: lib_dynload(module) for module in computing}
    assert any(found.values())
    for module, methods in found.items():
        assert {one.tier for one in methods.values()} <= {"", "leaves"}, module


def test_the_names_of_waits_are_those_that_a_reader_knows():
    assert ("recv",) == waits.names(waits.BIT["__recv_chk"] | waits.BIT["recv"])
    mask = waits.BIT["_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"]
    assert ("std::condition_variable::wait",) == waits.names(mask)


# -- what generators of bindings write


def relative(opcode, at, target):
    """An instruction with a target relative to its end."""
    return opcode + (target - at - len(opcode) - 4).to_bytes(4, "little", signed=True)


def lea(at, target):
    return relative(b"\x48\x8d\x05", at, target)  # lea rax, [rip + …]


def cython(fill, call, *, methods=1, slot=0x10):
    """A module whose initialization fills the table of a class with a method that waits."""
    module = Module()
    module.string("cython_runtime")
    wait = module.function("__pyx_f_wait", RELEASE, "recv", TAKE)
    other = module.function("__pyx_f_other", "memcpy")
    table = module.words(*[0] * 8)
    second = module.words(*[0] * 8)
    variable = module.words(0, 0)
    places = [(table + slot, wait), (second + slot, other)][:methods]
    for at, number in places:
        module.function("fill", fill(module, module.address(len(module.functions)), at, number))
    at = module.address(len(module.functions))
    module.function("point", lea(at, table), relative(b"\x48\x89\x05", at + 7, variable))
    if methods > 1:
        at = module.address(len(module.functions))
        module.function("too", lea(at, second), relative(b"\x48\x89\x05", at + 7, variable + 8))
    number = module.function("method", call(module.address(len(module.functions)), variable))
    module.methods(("run", number), owner="shop.Type")
    return module


def one_store(module, at, place, number):
    return lea(at, module.address(number)) + relative(b"\x48\x89\x05", at + 7, place)


def two_stores(module, at, place, number):
    """movq xmm0, rax; punpcklqdq xmm0, xmm0; movups [rip + …], xmm0: into two places."""
    code = lea(at, module.address(number)) + b"\x66\x48\x0f\x6e\xc0\x66\x0f\x6c\xc0"
    return code + relative(b"\x0f\x11\x05", at + len(code), place - 8)


def inserted(module, at, place, number):
    """movq xmm1, rax; pinsrq xmm1, rax, 1; movaps [rip + …], xmm1."""
    code = lea(at, module.address(number)) + b"\x66\x48\x0f\x6e\xc8\x66\x48\x0f\x3a\x22\xc8\x01"
    return code + relative(b"\x0f\x29\x0d", at + len(code), place - 8)


def through_object(at, variable):
    return b"\x48\x8b\x47\x10\xff\x50\x10"  # mov rax, [rdi + 16]; call [rax + 16]


def through_register(at, variable):
    return b"\x48\x8b\x47\x10\x4c\x8b\x40\x10\x41\xff\xd0"  # …; mov r8, [rax + 16]; call r8


def through_variable(at, variable):
    return relative(b"\x48\x8b\x05", at, variable) + b"\xff\x90\x10\x00\x00\x00"


@pytest.mark.parametrize("fill", [one_store, two_stores, inserted])
@pytest.mark.parametrize("call", [through_object, through_register, through_variable])
def test_the_tables_of_cython_classes_are_followed(tmp_path, fill, call):
    assert "waits" == told(cython(fill, call), tmp_path)["shop.Type.run"].tier


def test_a_method_that_two_classes_have_is_not_guessed(tmp_path):
    two = cython(one_store, through_object, methods=2)
    assert "" == told(two, tmp_path)["shop.Type.run"].tier
    exact = cython(one_store, through_variable, methods=2)
    assert "waits" == told(exact, tmp_path)["shop.Type.run"].tier


def test_pointers_that_a_module_copies_count_like_those_it_takes(tmp_path):
    def copied(module, at, place, number):
        slot = module.words((module.address(number),), (module.address(number),))
        # movq xmm0, [rip + …]; movhps xmm0, [rip + …]; movaps [rip + …], xmm0
        load = relative(b"\xf3\x0f\x7e\x05", at, slot)
        high = relative(b"\x0f\x16\x05", at + len(load), slot)
        code = load + high
        return code + relative(b"\x0f\x29\x05", at + len(code), place)

    assert "waits" == told(cython(copied, through_object), tmp_path)["shop.Type.run"].tier


def test_a_cython_function_has_the_name_of_its_traceback(tmp_path):
    module = Module()
    text = module.string("shop.orders.Till.scan")
    at = module.address(1)
    trace = module.function("__Pyx_AddTraceback", "PyTraceBack_Here")
    body = module.function("scan", lea(at, text), trace, RELEASE, "poll", TAKE)
    wrapper = module.function("wrapper", body)
    module.words((module.string("scan"),), (module.address(wrapper),), 0x82, 0)

    (one,) = read(module, tmp_path).methods

    assert ("shop.orders.Till.scan", "waits", True) == (one.name, one.tier, one.in_class)


def test_the_methods_of_pyo3_are_those_that_their_trampolines_are_handed(tmp_path):
    module = Module()
    real = module.function(
        "_RNvMs_NtCs_4shop5Argon7Scanner13___pymethod_read__", RELEASE, "recv", TAKE
    )
    at = module.address(1)
    trampoline = module.function("trampoline", lea(at, module.address(real)), b"\x90")
    name = module.string("read")
    module.words(1, (module.address(trampoline),), (name,), 5, 0, 0, 1, 0)

    (one,) = read(module, tmp_path).methods

    assert ("Scanner.read", "waits", ("recv",)) == (one.name, one.tier, one.waits)


def test_methods_are_called_by_their_python_names(tmp_path):
    module = Module()
    commit = module.function("commit", RELEASE, "recv", TAKE)
    name = module.string("commit")
    at = module.address(1)
    leave = module.function("leave", lea(at, name), "PyObject_CallMethod")
    module.methods(("commit", commit), ("__exit__", leave), owner="shop.connection")

    one = told(module, tmp_path)["shop.connection.__exit__"]

    assert ("waits", ("leave", "commit", "recv")) == (one.tier, one.chain)


def test_a_chain_goes_by_calls_rather_than_by_names(tmp_path):
    """A method of the name that is called may be another object's."""
    module = Module()
    read_object = module.function("read_object", RELEASE, "recv", TAKE)
    leads = module.function("passes_on", RELEASE, "recv", TAKE)
    through = module.function("passes_further", leads)
    name = module.string("read")
    at = module.address(3)
    parts = lea(at, name), "PyObject_CallMethod", through
    run = module.function("execute", *parts)
    module.methods(("read", read_object), owner="shop.Blob")
    module.methods(("execute", run), owner="shop.Cursor")

    one = told(module, tmp_path)["shop.Cursor.execute"]

    assert ("execute", "passes_further", "passes_on", "recv") == one.chain


def test_a_chain_goes_by_a_name_of_one_method_or_of_the_own_type(tmp_path):
    def chain(*called):
        """The chain of a method that calls methods by names; the shortest is another type's."""
        module = Module()
        others = module.function("close_connection", RELEASE, "recv", TAKE)
        inner = module.function("finish", RELEASE, "recv", TAKE)
        own = module.function("close_cursor", inner)
        run = module.function("run_command", inner)
        parts = []
        for number, name in enumerate(called):
            parts += [lea(module.address(4) + 13 * number, module.string(name))]
            parts += ["PyObject_CallMethod"]
        leave = module.function("leave", *parts)
        module.methods(("close", others), ("run", run), owner="shop.Connection")
        module.methods(("close", own), ("__exit__", leave), owner="shop.Cursor")
        return told(module, tmp_path)["shop.Cursor.__exit__"].chain

    assert ("leave", "close_cursor", "finish", "recv") == chain("close")
    assert ("leave", "run_command", "finish", "recv") == chain("close", "run")


def test_imports_are_called_through_registers_and_jumps(tmp_path):
    def method(*make):
        module = Module()
        number = module.function("f", *[part(module) if callable(part) else part for part in make])
        module.methods(("run", number), owner="shop.T")
        return told(module, tmp_path)["shop.T.run"].tier

    def load(module):
        return relative(b"\x48\x8b\x1d", module.address(0), module.slot("recv"))  # mov rbx, […]

    assert "held" == method(load, b"\xff\xd3")
    assert "" == method(load, b"\x90")
    jump = lambda module: relative(b"\xff\x25", module.address(0), module.slot("recv"))  # noqa: E731
    assert "held" == method(jump)
    unknown = lambda module: relative(b"\xff\x15", module.address(0), DATA + 0x80)  # noqa: E731
    assert "" == method(unknown)
    assert "leaves" == method(RELEASE, b"\xff\x14\xc8", TAKE)  # call [rax + rcx * 8]


# -- instructions


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200), st.sampled_from([X86_64, AARCH64]))
def test_any_code_has_ways_that_end(body, machine):
    class Code:
        def __init__(self):
            self.machine = machine
            self.relocations, self.stubs, self.functions = {0x2000: "recv"}, {}, {0x1000}
            self.codes, self.blocks = {}, {}

        def body(self, start):
            return body

        def is_writable(self, address):
            return 0x2000 <= address < 0x3000

    image = Code()
    blocks = flow.blocks(image, 0x1000)
    scanned = scanning.read(image, 0x1000)
    scanning.stores(image, 0x1000)

    assert all(0x1000 <= call.at < 0x1000 + len(body) for call in scanned.calls)
    starts = set(blocks)
    for block in blocks.values():
        assert block.start < block.end or not body
        assert set(block.following) <= starts


@pytest.mark.parametrize(
    ("code", "length"),
    [
        ("90", 1), ("0f1f440000", 5), ("48b8" + "11" * 8, 10), ("66b81111", 4), ("c8111100", 4),
        ("a0" + "11" * 8, 9), ("f6c001", 3), ("f7c011111111", 6), ("f7d8", 2), ("66f7c01111", 5),
        ("c5f877", 3), ("c4e27d5805" + "11" * 4, 9), ("c4e37d46c101", 6), ("c5f970c001", 5),
        ("62f17c4858c1", 6), ("0f3a0f", 5), ("660f3a0fc101", 6), ("0f38c8c1", 4),
        ("488d0425" + "11" * 4, 8),
        ("8b442404", 4), ("8b84241111111111", 7), ("69c011111111", 6), ("6bc001", 3), ("c21111", 3),
        ("f2480f2ac0", 5), ("0fa2", 2), ("e8" + "11" * 4, 5), ("cd80", 2),
    ],
)  # fmt: skip
def test_instructions_of_x86_64_have_their_lengths(code, length):
    """Intel SDM, volume 2: what stands behind is found, and only there."""
    body = bytes.fromhex(code)[:length].ljust(length, b"\x11")
    found = x86_64.turns(body + b"\xeb\x00\xc3", 0)
    jumps = [turn for turn in found if turn.kind == "jump"]
    assert [(length, length + 2)] == [(turn.at, turn.target) for turn in jumps]


def aarch64_code(*words):
    class Code:
        machine = AARCH64
        relocations: ClassVar = {0x2008: "recv", 0x2010: 0x1100}
        stubs: ClassVar = {}
        functions: ClassVar = {0x1000, 0x1100}

        def __init__(self):
            self.codes = {}

        def body(self, start):
            return struct.pack(f"<{len(words)}I", *words)

        def is_writable(self, address):
            return 0x2000 <= address < 0x3000

    return Code()


ADRP_X1 = 0xB0000001  # adrp x1, 0x2000, at 0x1000
LDR_X2 = 0xF9400422  # ldr x2, [x1, #8]
BLR_X2, BLR_X3 = 0xD63F0040, 0xD63F0060


def test_calls_of_aarch64_follow_registers():
    def targets(*words):
        return [call.target for call in scanning.read(aarch64_code(*words), 0x1000).calls]

    assert ["recv"] == targets(ADRP_X1, LDR_X2, BLR_X2)
    assert ["recv"] == targets(ADRP_X1, LDR_X2, 0xAA0203E3, BLR_X3)  # mov x3, x2
    assert [code.Pointer(None, None)] == targets(ADRP_X1, LDR_X2, 0xAA0903E2, BLR_X2)  # mov x2, x9
    assert [code.Pointer(None, None, 0x2000)] == targets(ADRP_X1, 0xF9400022, BLR_X2)
    # ldr x2, [x0, #16]; ldr x3, [x2, #24]; blr x3
    assert [code.Pointer(16, 24)] == targets(0xF9400802, 0xF9400C43, BLR_X3)
    # adrp x1; ldr x2, [x1]; ldr x3, [x2, #24]; blr x3
    assert [code.Pointer(None, 24, 0x2000)] == targets(ADRP_X1, 0xF9400022, 0xF9400C43, BLR_X3)
    assert [code.Pointer(None, 16)] == targets(0xF9400802, BLR_X2)
    # bl elsewhere: what x2 held is gone
    assert [code.Pointer(None, None)] == targets(ADRP_X1, LDR_X2, 0x94001000, BLR_X2)
    taken = scanning.read(aarch64_code(ADRP_X1, 0x91008021, 0xF9400021), 0x1000)
    assert 0x2020 in taken.data  # add x1, x1, #32


def test_stores_of_aarch64_are_found():
    # adrp x1, 0x1000; add x1, x1, #0x100; adrp x2, 0x2000; str x1, [x2, #32]; stp x1, x1, [x2, #48]
    words = (0x90000001, 0x91040021, 0xB0000002, 0xF9001041, 0xA9030441)
    found = scanning.stores(aarch64_code(*words), 0x1000)
    assert {0x2020: 0x1100, 0x2030: 0x1100, 0x2038: 0x1100} == found
    # adrp x1, 0x2000; ldr x3, [x1, #16]; str x3, [x1, #64]; ldr x3, [x1]; str x3, [x1, #72]
    words = (ADRP_X1, 0xF9400823, 0xF9002023, 0xF9400023, 0xF9002423, 0x91000063, 0xF9002823)
    assert {0x2040: 0x1100} == scanning.stores(aarch64_code(*words), 0x1000)


# -- modules that are installed for the tests


def installed(name):
    import importlib.util

    top, _, _ = name.partition(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        pytest.skip(f"{top} is not installed")
    parts = name.split(".")[1:]
    path = spec.origin
    if parts:
        (path,) = glob.glob(os.path.join(os.path.dirname(path), *parts) + ".*.so") or [None]
    if path is None or not IS_READ:
        pytest.skip(f"{name} is not compiled here")
    return {one.name: one for one in reading.read(path).methods}


def test_psycopg2_waits_in_libpq_with_the_gil_released():
    methods = installed("psycopg2._psycopg")

    for name in ("connection.commit", "connection.rollback", "cursor.execute", "cursor.fetchone"):
        one = methods[f"psycopg2.extensions.{name}"]
        assert ("waits", True) == (one.tier, "poll" in one.waits), name
    assert "connect" in methods["_psycopg._connect"].waits
    assert "PQsocketPoll" in methods["psycopg2.extensions.connection.commit"].chain
    for name in ("connection.fileno", "cursor.mogrify", "connection.get_backend_pid"):
        assert "" == methods[f"psycopg2.extensions.{name}"].tier, name


def test_confluent_kafka_waits_for_the_threads_of_librdkafka():
    methods = installed("confluent_kafka.cimpl")

    for name in ("Consumer.poll", "Consumer.close", "Producer.flush", "Producer.poll"):
        one = methods[f"cimpl.{name}"]
        assert ("waits", ("thread",)) == (one.tier, one.classes), name
    assert "rd_kafka_flush" in methods["cimpl.Producer.flush"].chain


def test_bindings_of_several_kinds_have_their_methods_found():
    assert "" == installed("greenlet._greenlet")["greenlet.greenlet.switch"].tier
    assert "leaves" == installed("bcrypt._bcrypt")["hashpw"].tier
    backend = installed("_cffi_backend")
    assert {"_cffi_backend.FFI.cast", "_cffi_backend.FFI.new"} <= set(backend)
    assert any(name.endswith("CParser.get_event") for name in installed("yaml._yaml"))
    assert "gevent.resolver.cares.channel.getaddrinfo" in installed("gevent.resolver.cares")


# -- files as linkers write them


def test_functions_without_symbols_are_found_by_the_unwinder_and_stubs_followed(tmp_path):
    """After strip only a call of a stub and the starts in ``.eh_frame_hdr`` are left."""
    library = Module()
    wait = library.function("hidden", RELEASE, "recv", TAKE)
    method = library.function("also_hidden", wait)
    library.methods(("run", method), owner="shop.T")
    base = DATA + len(library.data)
    rows = [(library.address(n) - base, 0) for n in range(2)]
    library.data += b"\x01\x1b\x03\x3b" + struct.pack("<iI", 0, 2)
    library.data += b"".join(struct.pack("<ii", *row) for row in rows)
    image = library.image()
    # The second program header becomes one of the unwinder's table; the names go.
    for name in (b"also_hidden\0", b"hidden\0"):
        image = image.replace(name, bytes(len(name)))
    header = struct.pack("<IIQQQQQQ", 0x6474E550, 4, base, base, base, 28, 28, 4)
    count = struct.unpack_from("<H", image, 56)[0]
    moved = bytearray(image)
    table = image[64 : 64 + 56 * count] + header
    moved[64 : 64 + len(table)] = table
    struct.pack_into("<H", moved, 56, count + 1)
    (tmp_path / "shop.so").write_bytes(bytes(moved))

    (one,) = reading.read(str(tmp_path / "shop.so")).methods

    assert ("waits", ("recv",)) == (one.tier, one.waits[:1])


def test_a_stub_is_what_its_slot_holds():
    class Stubbed(Image):
        def __init__(self, machine):
            self.machine = machine
            self.relocations = {0x3008: "recv", 0x3010: "send"}
            self.stubs = {}

    one = Stubbed(AARCH64)
    # bti c; adrp x16, 0x3000; ldr x17, [x16, #8]; add; br x17; adrp x16; ldr x17, [x16, #16]
    words = (0xD503245F, 0xD0000010, 0xF9400611, 0x91002210, 0xD61F0220, 0xD0000010, 0xF9400A11)
    one._read_stubs_aarch64(0x1000, struct.pack(f"<{len(words)}I", *words))
    assert {0x1000: "recv", 0x1004: "recv", 0x1014: "send"} == one.stubs


def test_packed_relocations_are_unpacked():
    """SHT_RELR: an address, then a bitmap of the 63 words behind it, then the next bitmap."""
    from gblock.native.image import _Section

    class Packed(Image):
        def __init__(self, words):
            self.data = struct.pack(f"<{len(words)}Q", *words)
            self.relocations, self._left = {}, 1000

        def word(self, address):
            return address + 0x100

    def unpacked(*words):
        one = Packed(words)
        one._read_packed(_Section(".relr.dyn", 19, 0, 0, 0, 8 * len(words), 0))
        return sorted(one.relocations)

    assert [0x1000, 0x1008, 0x1018] == unpacked(0x1000, 0b1011)
    assert [0x1000, 0x1008 + 8 * 62, 0x1008 + 8 * 63] == unpacked(0x1000, 1 << 63 | 1, 0b11)


def test_a_file_whose_tables_are_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr("gblock.native.image._MOST_ROWS", 3)
    with pytest.raises(NotReadError, match="too large"):
        Image(SAMPLE)


def test_a_program_is_no_shared_object():
    program = bytearray(SAMPLE)
    program[16:18] = b"\x02\x00"
    with pytest.raises(NotReadError, match="not a shared object"):
        Image(bytes(program))


def test_what_is_larger_than_what_is_followed_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("gblock.native.gil._MOST_FUNCTIONS", 2)
    module = Module()
    for number in range(6):
        module.function(f"f{number}", *([number + 1] if number < 5 else ["recv"]))
    module.methods(("run", 0), owner="shop.T")
    found = read(module, tmp_path)
    assert "larger than what is followed" == found.not_read
    assert [""] == [one.tier for one in found.methods]


def test_a_file_that_is_too_large_or_gone_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "shop.so"
    path.write_bytes(SAMPLE)
    monkeypatch.setattr(reading, "LARGEST", 10)
    assert reading.read(str(path)).not_read.startswith("larger than")

    def refused(path):
        raise PermissionError(13, "Permission denied")

    assert "Permission denied" == reading.read(str(path), refused).not_read


def test_a_long_chain_is_shortened(tmp_path):
    module = Module()
    for number in range(20):
        module.function(f"f{number:02}", *([number + 1] if number < 19 else ["recv"]))
    module.methods(("run", 0), owner="shop.T")
    one = told(module, tmp_path)["shop.T.run"]
    assert ("f00", "…", "f19", "recv") == (one.chain[0], one.chain[6], *one.chain[-2:])
    assert 14 == len(one.chain)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PQexec", "PQexec"),
        ("rd_kafka_q_serve0.localalias", "rd_kafka_q_serve0"),
        ("parse.constprop.0", "parse"),
        ("__pyx_f_7pymssql_6_mssql_15MSSQLConnection_cancel", "MSSQLConnection.cancel"),
        ("__pyx_f_7pymssql_6_mssql_db_cancel", "_mssql.db_cancel"),
        ("_ZN7leveldb2DB4OpenERKNS_7OptionsERKSsPPS0_", "leveldb::DB::Open"),
        ("_ZNK7leveldb6DBImpl3GetEv", "leveldb::DBImpl::Get"),
        ("_ZN4open", "_ZN4open"),
        ("__pyx_f_99short", "__pyx_f_99short"),
    ],
)
def test_names_are_those_that_a_reader_knows(name, text):
    assert text == names.readable(name)


def test_what_cython_puts_around_a_method_is_left_out_of_a_chain():
    assert names.is_wrapper("__pyx_pw_7pymssql_6_mssql_15MSSQLConnection_25execute_query")
    assert names.is_wrapper("_ZL39__pyx_pw_6plyvel_7_plyvel_2DB_1__init__P7_objectS0_S0_")
    assert not names.is_wrapper("__pyx_f_7pymssql_6_mssql_db_cancel")
    assert not names.is_wrapper("PQexec")


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("gblock.native.image._MOST_CODE", 40),
        ("gblock.native.image._LONGEST_BODY", 3),
        ("gblock.native.gil._MOST_LOOKS", 0),
        ("gblock.native.flow._MOST_TURNS", 0),
        ("gblock.native.flow._MOST_CASES", 0),
    ],
)
def test_what_is_looked_at_has_a_limit(tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(limit, value)
    module = Module()
    inner = module.function("inner", b"\xeb\x00", "recv", b"\xff\xe0")
    outer = module.function("outer", RELEASE, inner, TAKE, inner)
    module.methods(("run", outer), owner="shop.T")
    found = read(module, tmp_path)
    assert ["shop.T.run"] == [one.name for one in found.methods]


def test_a_file_that_ends_the_interpreters_patience_is_not_read(tmp_path, monkeypatch):
    def endless(self):
        raise RecursionError

    monkeypatch.setattr(reading.MethodTables, "methods", endless)
    assert "damaged: RecursionError" == read(Module(), tmp_path).not_read
