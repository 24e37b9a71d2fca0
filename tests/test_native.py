"""What machine code says: of images made here, and of modules that are installed."""

from __future__ import annotations

import glob
import os
import struct
import sysconfig

import pytest
from elf_images import AARCH64, CODE, DATA, RELEASE, TAKE, X86_64, Module
from hypothesis import given, settings
from hypothesis import strategies as st

from gblock.native import reading, waits
from gblock.native.image import Image, NotReadError

CALL_RAX = b"\xff\xd0"


def read(module, tmp_path, name="shop.so"):
    path = tmp_path / name
    path.write_bytes(module.image())
    return reading.read(str(path))


def told(module, tmp_path):
    return {one.name: one for one in read(module, tmp_path).methods}


def one_method(tmp_path, *parts, setup=lambda module: None, machine=X86_64):
    """What is said of a method that consists of these parts."""
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
        (("recv", RELEASE, TAKE), "leaves"),
        ((RELEASE, TAKE, "recv"), "leaves"),
        ((RELEASE, "PyGILState_Ensure", "recv", "PyGILState_Release", TAKE), "leaves"),
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
    assert "leaves" == one_method(tmp_path, RELEASE, b"\x90\x90", TAKE, "recv").tier


def test_all_ways_through_a_function_of_aarch64_count(tmp_path):
    over = struct.pack("<I", 0x14000004)  # b over the three instructions of a call
    chosen = struct.pack("<I", 0x54000080)  # b.eq over them
    parts = (RELEASE, over, TAKE, "recv")
    assert "waits" == one_method(tmp_path, *parts, machine=AARCH64).tier
    assert "waits" == one_method(tmp_path, chosen, RELEASE, "recv", machine=AARCH64).tier
    assert "leaves" == one_method(tmp_path, RELEASE, TAKE, "recv", machine=AARCH64).tier


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


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_bytes_of_no_form_are_not_read(data):
    with pytest.raises(NotReadError):
        Image(b"\x7fELF\x02\x01" + data)


def lib_dynload(name):
    folder = os.path.join(sysconfig.get_path("stdlib"), "lib-dynload")
    found = glob.glob(os.path.join(folder, f"{name}.*.so"))
    if not found:
        pytest.skip(f"this Python has {name} inside")
    return {one.name: one for one in reading.read(found[0]).methods}


def test_the_socket_module_of_this_python_lets_go_of_the_gil_around_its_waits():
    methods = lib_dynload("_socket")
    kind = next(name for name in methods if name.endswith("socket.recv")).rpartition(".")[0]

    for name, wait in (("recv", "recv"), ("connect", "connect"), ("sendall", "send")):
        one = methods[f"{kind}.{name}"]
        assert "waits" == one.tier, name
        assert wait in one.waits
    assert "" == methods[f"{kind}.fileno"].tier


def test_modules_of_this_python_that_only_compute_reach_no_wait():
    for module in ("_struct", "binascii", "_json", "_heapq"):
        tiers = {one.tier for one in lib_dynload(module).values()}
        assert tiers <= {"", "leaves"}, module


def test_the_names_of_waits_are_those_that_a_reader_knows():
    assert ("recv",) == waits.names(waits.BIT["__recv_chk"] | waits.BIT["recv"])
    mask = waits.BIT["_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"]
    assert ("std::condition_variable::wait",) == waits.names(mask)
