"""Dockerfiles: packages that they copy from several directories, and files that they rename."""

from __future__ import annotations

import pytest
from harness import check

from gblock.config import Config
from gblock.project.reading.images import Images, copies, is_dockerfile

COPIES = {
    "a directory": ("COPY shop /app/shop", [("shop", "/app/shop")]),
    "several files": ("COPY a.py b.py ./", [("a.py", "./"), ("b.py", "./")]),
    "in small letters": ("copy shop /app", [("shop", "/app")]),
    "ADD": ("ADD ./shop /app/shop", [("./shop", "/app/shop")]),
    "with an owner": ("COPY --chown=a:b shop /app/shop", [("shop", "/app/shop")]),
    "a list": ('COPY ["shop", "/app/shop"]', [("shop", "/app/shop")]),
    "a list with a flag": ('COPY --chown=a ["shop", "/app"]', [("shop", "/app")]),
    "on several rows": ("COPY a.py \\\n  # the other\n  b.py /app/", [
        ("a.py", "/app/"), ("b.py", "/app/")
    ]),
    "from another stage": ("COPY --from=build /out /app", []),
    "of a variable": ("COPY $WHAT /app", []),
    "a pattern": ("COPY *.py /app", []),
    "in a comment": ("# COPY shop /app", []),
    "another instruction": ("RUN cp shop /app", []),
    "nothing": ("COPY", []),
    "a broken list": ('COPY ["shop, /app]', [('["shop,', "/app]")]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), COPIES.values(), ids=COPIES)
def test_copies_of_a_dockerfile(text, expected):
    assert [tuple(one) for one in copies(f"FROM python\n{text}\n")] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Dockerfile", True),
        ("dockerfile.prod", True),
        ("Containerfile", True),
        ("web.Dockerfile", True),
        ("Dockerfiles.md", False),
        ("my-dockerfile", False),
    ],
)
def test_names_of_dockerfiles(name, expected):
    assert is_dockerfile(name) is expected


def written(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


HOLDING = {
    "beside the package": ({"one/Dockerfile": "COPY one/shop /app/shop\nCOPY web /app/web"}, True),
    "at the top": ({"Dockerfile.one": "COPY one/shop /app/shop\nCOPY web /app/web"}, True),
    "in a directory": ({"docker/Dockerfile": "COPY one/shop shop\nCOPY web web"}, True),
    "what is around it": ({"Dockerfile": "COPY one ./\nCOPY web/app.py ./"}, True),
    "with its own directory as context": ({"one/Dockerfile": "COPY shop shop"}, False),
    "without the importer": ({"Dockerfile": "COPY one/shop /app/shop"}, False),
    "without the package": ({"Dockerfile": "COPY web /app"}, False),
    "everything": ({"Dockerfile": "COPY . ."}, False),
    "none": ({}, False),
}


@pytest.mark.parametrize(("files", "expected"), HOLDING.values(), ids=HOLDING)
def test_an_image_holds_a_package_with_another_file(files, expected, tmp_path):
    written(tmp_path, {"one/shop/__init__.py": "", "web/app.py": "", **files})
    images = Images(str(tmp_path))
    found = images.hold(str(tmp_path / "one" / "shop"), str(tmp_path / "web" / "app.py"))
    assert found is expected


WEB = (
    "from gevent import monkey\nmonkey.patch_all()\nfrom flask import Flask\n"
    "from shop.work import run\napp = Flask(__name__)\n"
    "@app.route('/')\ndef index():\n    return run()\n"
)
RUN = "import os\ndef run():\n    os.wait()\n"
STARTED = "COPY web /app/web\nWORKDIR /app/web\nCMD gunicorn -k gevent app:app\n"


def reported(root):
    found = check([str(root)], Config(root=str(root))).diagnostics
    return {
        (one.filename.split("/")[-3], one.context) for one in found if one.code == "blocking-call"
    }


@pytest.mark.parametrize(
    ("copying", "expected"),
    [
        (("one", "two"), {("one", "request"), ("two", "request")}),
        (("one",), {("one", "request"), ("two", "unknown")}),
        ((), {("one", "unknown"), ("two", "unknown")}),
    ],
)
def test_a_package_comes_from_the_directories_that_images_copy(copying, expected, tmp_path):
    written(tmp_path, {"requirements.txt": "gevent\n", "web/app.py": WEB})
    for name in ("one", "two"):
        files = {f"{name}/shop/__init__.py": "", f"{name}/shop/work.py": RUN}
        if name in copying:
            files[f"{name}/Dockerfile"] = f"FROM python\nCOPY {name}/shop /app/web/shop\n{STARTED}"
        written(tmp_path, files)
    written(tmp_path, {"Procfile": "web: gunicorn -k gevent --chdir web app:app\n"})
    assert reported(tmp_path) == expected


def test_modules_that_images_copy_are_modules_of_each(tmp_path):
    written(tmp_path, {"requirements.txt": "gevent\n", "web/app.py": WEB.replace("shop.", "")})
    for name in ("one", "two"):
        text = f"FROM python\nCOPY {name}/lib/work.py /app/web/work.py\n{STARTED}"
        written(tmp_path, {f"{name}/lib/work.py": RUN, f"{name}/Dockerfile": text})
    assert {name for name, context in reported(tmp_path) if context == "request"} == {"one", "two"}


SETTINGS = "[uwsgi]\nmodule = app\ngevent = 100\n"
APP = "import bottle, time\n@bottle.route('/')\ndef index():\n    time.sleep(9)\n"


@pytest.mark.parametrize(
    ("copied", "expected"),
    [
        ("COPY uwsgi.ini.prod uwsgi.ini", {"missing-monkey-patch", "unpatched-call"}),
        ("COPY conf/live /app/uwsgi.ini", {"missing-monkey-patch", "unpatched-call"}),
        ("COPY uwsgi.ini.prod ./", set()),
        ("RUN true", set()),
    ],
)
def test_settings_are_read_under_the_name_that_an_image_gives_them(copied, expected, tmp_path):
    start = 'CMD ["uwsgi", "--ini", "/app/uwsgi.ini"]\n'
    files = {
        "app.py": APP,
        "uwsgi.ini.prod": SETTINGS,
        "conf/live": SETTINGS,
        "Dockerfile": f"FROM python\nWORKDIR /app\n{copied}\n{start}",
    }
    written(tmp_path, files)
    assert {one.code for one in check([str(tmp_path)], Config(root=str(tmp_path))).diagnostics} == (
        expected
    )
