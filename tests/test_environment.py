"""Installed packages are read from files, whatever installer wrote them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from installed import environment, install

from gblock.distribution import normalized
from gblock.errors import UserError
from gblock.packages import environment as environments
from gblock.packages.environment import inspect, read

SO = "cpython-311-x86_64-linux-gnu.so"


@pytest.fixture
def site(tmp_path):
    return environment(tmp_path / "venv")[1]


def found(site: Path):
    """The distributions of an environment, by name."""
    return {one.name: one for one in read(str(site.parents[2])).distributions}


def test_names_are_compared_as_pep_503_says():
    assert "ruamel-yaml-clib" == normalized("Ruamel.Yaml__clib")


def test_modules_and_libraries_are_told_apart(site):
    install(
        site,
        "confluent-kafka",
        "2.5.0",
        [
            "confluent_kafka/__init__.py",
            f"confluent_kafka/cimpl.{SO}",
            f"confluent_kafka/librt_ops.{SO}",
            "confluent_kafka/native.abi3.so",
            "confluent_kafka/win.pyd",
            "confluent_kafka/.dylibs/libz.1.dylib",
            "confluent_kafka/libvendor.so",
            "confluent_kafka.libs/librdkafka-0cb94173.so.1",
            "../../../bin/kafka.so",
        ],
    )
    (one,) = read(str(site.parents[2])).distributions

    assert ("confluent-kafka", "2.5.0", ("confluent_kafka",)) == (
        one.name,
        one.version,
        one.modules,
    )
    assert (
        f"confluent_kafka/cimpl.{SO}",
        f"confluent_kafka/librt_ops.{SO}",
        "confluent_kafka/native.abi3.so",
        "confluent_kafka/win.pyd",
    ) == one.compiled
    assert (
        "confluent_kafka.libs/librdkafka-0cb94173.so.1",
        "confluent_kafka/.dylibs/libz.1.dylib",
        "confluent_kafka/libvendor.so",
    ) == one.libraries


def test_a_package_of_python_alone_is_not_native(site):
    install(site, "pluggy", files=["pluggy/__init__.py", "../../../bin/tool"])

    assert not found(site)["pluggy"].is_native


def test_a_namespace_is_shared_and_what_is_below_it_is_not(site):
    install(site, "google-a", files=["google/cloud/a/__init__.py", f"google/cloud/a/c.{SO}"])
    install(site, "google-b", files=["google/cloud/b_v1/__init__.py", "google/cloud/b.py"])
    install(site, "protobuf", files=["google/protobuf/__init__.py", "google/__init__.py"])
    modules = {name: one.modules for name, one in found(site).items()}

    assert ("google.cloud.a",) == modules["google-a"]
    assert ("google.cloud.b", "google.cloud.b_v1") == modules["google-b"]
    assert ("google.protobuf",) == modules["protobuf"]


def test_two_builds_of_one_package_both_have_its_modules(site):
    files = ["cv2/__init__.py", f"cv2/cv2.{SO}"]
    install(site, "opencv-python", files=files)
    install(site, "opencv-python-headless", files=files)

    assert {("cv2",)} == {one.modules for one in found(site).values()}


def test_what_is_needed_is_told_without_extras(site):
    lines = "Requires-Dist: Foo.Bar>=1\nRequires-Dist: baz; extra == 'x'\n"
    install(site, "shop", metadata=lines)

    assert ("foo-bar",) == found(site)["shop"].requires


@pytest.mark.parametrize("top_level", ["shop\n", None])
def test_without_a_record_the_packages_are_walked(site, top_level):
    more = {} if top_level is None else {"top_level_txt": top_level}
    install(site, "shop", files=None, **more)
    for name in ("shop/__init__.py", f"shop/deep/fast.{SO}", "shop.libs/libx.so.1", "other/x.so"):
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    one = found(site)["shop"]

    assert (f"shop/deep/fast.{SO}",) == one.compiled
    assert ("shop.libs/libx.so.1",) == one.libraries
    assert ("shop",) == one.modules


def test_an_egg_info_is_read(site):
    folder = site / "Old_Shop-0.9-py3.11.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Name: Old-Shop\nVersion: 0.9\n\nText\n")
    (folder / "installed-files.txt").write_text(
        f"../shop/__init__.py\n../shop/fast.{SO}\nPKG-INFO\n"
    )
    (folder / "SOURCES.txt").write_text("setup.py\n")
    install(site, "any")
    one = found(site)["Old-Shop"]

    assert (("shop",), (f"shop/fast.{SO}",)) == (one.modules, one.compiled)


def test_eggs_are_read_unpacked_and_zipped(site):
    install(site, "any")
    info = "EGG-INFO/"
    files = {
        f"{info}PKG-INFO": "Name: {}\nVersion: 1\n",
        f"{info}top_level.txt": "{}\n",
        f"{info}native_libs.txt": "{}/fast.so\n",
        "{}/__init__.py": "",
        "{}/fast.so": "",
    }
    for name, content in files.items():
        path = site / "flat-1-py3.11.egg" / name.format("flat")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.format("flat"))
    with zipfile.ZipFile(site / "zipped-1-py3.11.egg", "w") as archive:
        for name, content in files.items():
            archive.writestr(name.format("zipped"), content.format("zipped"))
    (site / "easy-install.pth").write_text(
        "import sys; sys.__plen = len(sys.path)\n./flat-1-py3.11.egg\n./zipped-1-py3.11.egg\n"
    )
    one, other = found(site)["flat"], found(site)["zipped"]

    assert (("flat/fast.so",), ("flat",)) == (one.compiled, one.modules)
    assert ("zipped/fast.so",) == other.compiled


@pytest.mark.parametrize("layout", ["src", "python", "."])
def test_an_editable_install_is_followed_to_its_checkout(site, tmp_path, layout):
    checkout = tmp_path / "checkout"
    package = checkout / layout / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / f"fast.{SO}").touch()
    direct = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    install(site, "shop", files=["_shop.pth"], direct_url_json=json.dumps(direct))
    if layout == "src":
        (site / "_shop.pth").write_text(f"{checkout / layout}\n")
    one = found(site)["shop"]

    assert (str(checkout), ("shop",)) == (one.source, one.modules)
    assert (f"shop/fast.{SO}",) == one.compiled


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("METADATA", b"\xff\xfe\x00broken"),
        ("METADATA", b""),
        ("RECORD", b'"shop/__init__.py,,\n\x00\n'),
        ("RECORD", b"\xff\xff"),
        ("direct_url.json", b"{nonsense"),
        ("direct_url.json", b'{"dir_info": {"editable": true}, "url": 5}'),
        ("top_level.txt", b"\xff"),
    ],
)
def test_broken_metadata_is_no_failure(site, name, content):
    folder = install(site, "shop", "1.0", ["shop/__init__.py", f"shop/fast.{SO}"])
    install(site, "other", files=[f"other.{SO}"])
    (folder / name).write_bytes(content)
    result = found(site)

    assert result["other"].is_native
    assert "1.0" == result["shop"].version
    assert (f"shop/fast.{SO}",) == result["shop"].compiled


def test_metadata_without_any_name_is_noted(site):
    folder = site / "nameless.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Version: 1\n")
    (note,) = read(str(site.parents[2])).notes

    assert "nameless.dist-info" in note


def test_the_environment_of_this_process_is_the_default():
    one = next(one for one in read().distributions if one.key == "pyyaml")

    assert one.is_native
    assert "yaml" in one.modules


def test_an_interpreter_is_asked(tmp_path):
    by_interpreter = read(sys.executable)

    assert {"pytest", "msgspec"} <= {one.key for one in by_interpreter.distributions}
    assert sys.executable == by_interpreter.name


def test_a_virtual_environment_has_its_own_packages(tmp_path):
    command = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")]
    subprocess.run(command, check=True)
    (site,) = tmp_path.glob("venv/lib/python*/site-packages")
    install(site, "shop", files=[f"shop.{SO}"])
    (one,) = read(str(tmp_path / "venv")).distributions

    assert ("shop", (f"shop.{SO}",), ("shop",)) == (one.name, one.compiled, one.modules)


def test_a_directory_of_packages_is_an_environment(tmp_path):
    install(tmp_path, "shop")

    assert ["shop"] == [one.name for one in read(str(tmp_path)).distributions]


def test_no_package_is_imported(site):
    install(site, "shop", files=["shop/__init__.py", f"shop/fast.{SO}"])
    (site / "shop" / "__init__.py").write_text("raise SystemExit\n")

    assert found(site)["shop"].is_native
    assert "shop" not in sys.modules


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "not a Python environment"),
        (lambda path: path.write_text("no program"), "not a Python interpreter: "),
        (lambda path: _script(path, "exit 3"), r"not a working Python 3 \(exit code 3\)"),
        (lambda path: _script(path, "echo boo >&2; exit 1"), r"exit code 1: boo"),
        (lambda path: _script(path, "echo hello"), "not a Python interpreter"),
        (lambda path: _script(path, "echo '[]'"), "not a Python interpreter"),
    ],
)
def test_what_is_no_environment_is_an_error_with_a_remedy(tmp_path, make, message):
    path = tmp_path / "python"
    make(path)

    with pytest.raises(UserError, match=message) as caught:
        read(str(path))
    assert str(path) == caught.value.filename
    assert "\n" not in str(caught.value)


def _script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)


def test_a_namespace_belongs_to_no_distribution_even_where_one_alone_has_modules_in_it(tmp_path):
    files = {
        "google_cloud_pubsub": ["google/cloud/pubsub_v1/__init__.py"],
        "google_cloud_tasks": ["google/cloud/tasks_v2/__init__.py"],
        "protobuf_of_ours": ["bureau/message/__init__.py", "bureau/_wire.py"],
    }
    root, site = environment(tmp_path)
    for name, paths in files.items():
        install(site, name, files=paths)
    found = {one.name: one.modules for one in read(str(root)).distributions}

    assert found == {
        "google_cloud_pubsub": ("google.cloud.pubsub_v1",),
        "google_cloud_tasks": ("google.cloud.tasks_v2",),
        "protobuf_of_ours": ("bureau._wire", "bureau.message"),
    }


def test_settings_name_an_environment_by_its_interpreter(site, tmp_path):
    install(site, "pyzmq", "26.0", ["zmq/__init__.py"])
    interpreter = site.parents[2] / "bin" / "python3.11"
    interpreter.parent.mkdir()
    interpreter.touch()

    found = inspect(str(interpreter), str(tmp_path / "repository"))
    assert ["pyzmq"] == [one.name for one in found.distributions]


@pytest.mark.parametrize(("name", "reason"), [("run.sh", "never started"), ("gone", "not exist")])
def test_settings_that_name_no_environment_are_an_error(tmp_path, name, reason):
    (tmp_path / "run.sh").touch()

    with pytest.raises(UserError, match=reason):
        inspect(str(tmp_path / name), str(tmp_path))


def test_of_an_environment_in_the_repository_nothing_outside_is_read(tmp_path):
    root, site = environment(tmp_path / "repository" / "venv")
    outside = tmp_path / "outside"
    outside.mkdir()
    (site / "more.pth").write_text(f"{outside}\n", encoding="utf-8")
    install(outside, "elsewhere", "1.0", ["elsewhere.py"])
    (site / "linked-1.0.dist-info").symlink_to(install(outside / "more", "linked", "1.0", ["a.py"]))
    direct = {"url": outside.as_uri(), "dir_info": {"editable": True}}
    install(site, "edited", direct_url_json=json.dumps(direct))
    found = inspect(str(root), str(tmp_path / "repository"))

    assert [("edited", ())] == [(one.name, one.modules) for one in found.distributions]
    paths = (outside, site / "linked-1.0.dist-info")
    assert {
        f"{path} is outside the repository and was not read; use --python to read it"
        for path in paths
    } == set(found.notes)
    assert ["edited", "elsewhere", "linked"] == [one.name for one in read(str(root)).distributions]


def test_an_interpreter_that_does_not_answer_is_an_error(tmp_path, monkeypatch):
    waiting = tmp_path / "python"
    waiting.write_text("#!/bin/sh\nexec sleep 30\n", encoding="utf-8")
    waiting.chmod(0o755)
    monkeypatch.setattr(environments, "_PATIENCE", 0.2)

    with pytest.raises(UserError, match=r"did not answer within 0\.2 s"):
        read(str(waiting))


def test_a_path_file_with_a_null_byte_names_nothing(site):
    (site / "odd.pth").write_bytes(b"/tmp/\0/x\n")
    install(site, "pyzmq", "26.0", ["zmq/__init__.py"])

    assert {"pyzmq"} == found(site).keys()


@pytest.mark.parametrize(
    ("record", "modules"),
    [
        ('"open,quote\nzmq/__init__.py,,\n', ()),
        ("zmq/__init__.py,,\n", ("zmq",)),
        (f'"{"x" * 200_000}",,\nzmq/__init__.py,,\nx/RECORD,,\n', ("zmq",)),
    ],
    ids=["broken", "without itself", "a field that is too long"],
)
def test_a_record_that_is_wrong_is_not_believed(site, record, modules):
    folder = install(site, "pyzmq", "26.0", ["zmq/__init__.py"])
    (folder / "RECORD").write_text(record, encoding="utf-8")
    (folder / "top_level.txt").write_text(" ".join(modules), encoding="utf-8")

    assert modules == found(site)["pyzmq"].modules


def test_a_file_of_the_metadata_that_is_no_file_is_passed_over(site):
    folder = install(site, "pyzmq", "26.0", ["zmq/__init__.py"])
    (folder / "top_level.txt").mkdir()
    os.mkfifo(folder / "PKG-INFO")

    assert ("zmq",) == found(site)["pyzmq"].modules


def test_a_program_is_found_on_the_search_path(tmp_path, monkeypatch):
    _script(tmp_path / "python-here", "exit 3")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UserError, match="exit code 3"):
        read("python-here")


def test_a_file_in_the_place_of_a_directory_has_no_packages(tmp_path, site):
    direct = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    install(site, "shop", files=["_shop.pth"], direct_url_json=json.dumps(direct))
    file = tmp_path / "file"
    file.touch()
    (site / "_shop.pth").write_text(f"{file}\n", encoding="utf-8")
    assert () == found(site)["shop"].modules

    (site.parent / "site-packages").rename(site.parent / "before")
    site.touch()
    assert {} == found(site)


def test_a_walk_without_a_record_ends_at_its_limit(site, monkeypatch):
    install(site, "shop", files=None, top_level_txt="shop\nsingle\n")
    (site / "single.py").touch()
    for name in ("one", "two"):
        (site / "shop" / name).mkdir(parents=True)
        (site / "shop" / name / "__init__.py").touch()
    assert ("shop.one", "shop.two", "single") == found(site)["shop"].modules
    monkeypatch.setattr(environments, "_FILES_LIMIT", 1)

    assert ("shop.one",) == found(site)["shop"].modules
