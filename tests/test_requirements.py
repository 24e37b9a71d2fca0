"""Requirements of a project in the files of pip, Poetry, Pipenv, conda and setuptools."""

from __future__ import annotations

import string

import pytest
from harness import check
from hypothesis import given
from hypothesis import strategies as st

from gblock.config import Config
from gblock.distribution import always_required, normalized, required
from gblock.project.reading.requirements import Requirements
from gblock.project.reading.tree import Tree


@pytest.mark.parametrize(
    ("name", "text", "required"),
    [
        ("requirements.txt", "Psycopg2_Binary>=2  # or psycopg\n", ["psycopg2-binary"]),
        ("requirements/prod.txt", "-r base.txt\npsycopg[binary]==3.2\n", ["psycopg"]),
        ("pyproject.toml", '[project]\ndependencies = ["psycopg2~=2.9"]\n', ["psycopg2"]),
        ("setup.cfg", "[options]\ninstall_requires =\n  psycopg2\n", ["psycopg2"]),
        ("Pipfile", '[packages]\npsycopg2-binary = "*"\n', ["psycopg2-binary"]),
        ("Dockerfile", "RUN pip install psycopg2-binary gevent\n", ["psycopg2-binary"]),
        (
            "poetry.lock",
            '[[package]]\nname = "sqlalchemy"\n[package.extras]\npg = ["psycopg2"]\n',
            [],
        ),
        ("uv.lock", '[[package]]\nname = "psycopg"\nversion = "3"\n', ["psycopg"]),
        ("Pipfile.lock", '{\n    "default": {\n        "psycopg2": {\n', ["psycopg2"]),
        ("notes.txt", "psycopg2 and psycopg\n", []),
        ("requirements.txt", "psycopg2-binary==2.9 \\\n  --hash=sha256:00\n", ["psycopg2-binary"]),
        ("requirements.txt", "--extra-index-url https://psycopg2.example\n", []),
        ("requirements.txt", "-e git+https://github.com/psycopg/psycopg2.git@v2\n", ["psycopg2"]),
        ("requirements.txt", "psycopg2 @ https://example.org/a.zip\n", ["psycopg2"]),
        ("requirements.txt", "./vendor/psycopg2-2.9-cp311-cp311-linux_x86_64.whl\n", ["psycopg2"]),
        ("pyproject.toml", 'name = "psycopg2"\n[project]\nkeywords = ["psycopg"]\n', []),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\ndb = ["psycopg[c]"]\n'
            '[dependency-groups]\ndev = [{include-group = "x"}, "psycopg2"]\n',
            ["psycopg", "psycopg2"],
        ),
        (
            "pyproject.toml",
            '[tool.poetry.group.db.dependencies]\npsycopg2 = {version = "^2", optional = true}\n'
            'psycopg = [{version = "3", python = ">3"}]\n',
            ["psycopg", "psycopg2"],
        ),
        ("pyproject.toml", '[project]\ndependencies = [\n  "psycopg2",\n', ["psycopg2"]),
        ("setup.cfg", "[options]\ninstall_requires = psycopg2>=2\n", ["psycopg2"]),
        ("setup.py", "setup(install_requires=['psycopg2>=2', 'a'])  # 'psycopg'\n", ["psycopg2"]),
        ("environment.yml", "dependencies:\n  - psycopg2=2.9\n  - pip:\n", ["psycopg2"]),
    ],
)
def test_what_a_project_requires(tree, name, text, required):
    requirements = Requirements(Tree(str(tree({name: text}))))
    drivers = ("psycopg", "psycopg2", "psycopg2-binary")

    assert required == [one for one in drivers if one in requirements]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gevent", "gevent"),
        ("Gevent_WebSocket[x] >=1,<2 ; python_version < '4'", "gevent-websocket"),
        ("gevent>=", "gevent"),
        ("gevent=24.2=py311", "gevent"),
        ("gevent ^24.2", "gevent"),
        ("gevent ; python_version <", "gevent"),
        ("git+ssh://git@example.org/x/gevent.git", "gevent"),
        ("git+https://example.org/x/y#egg=gevent", "gevent"),
        ("https://example.org/gevent-24.2.tar.gz#sha256=0", "gevent"),
        ("https://example.org/gevent.whl", None),
        ("../shop", None),
        (".", None),
        ("", None),
        ("import gevent", None),
        ("FROM:gevent", None),
    ],
)
def test_a_requirement_names_one_distribution_however_broken_it_is(text, name):
    assert name == required(text)


@given(st.text(alphabet=string.ascii_letters + "-_.[]<>=!~;@,/#:+ \\\"'\n0", max_size=40))
def test_no_text_stops_the_reading_of_requirements(text):
    name = required(text)
    assert name is None or name == normalized(name)


def test_what_only_an_extra_requires_is_not_required():
    lines = [
        "Foo.Bar>=1",
        "a; extra == 'x'",
        "b; extra == 'x' or python_version > '2'",
        "c; python_version < '2'",
        "d (broken",
        "e (broken; extra == 'x'",
        "f; extra ~= 'x'",
    ]
    assert {"foo-bar", "b", "c", "d"} == always_required(lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uv.lock", '[[package]]\nname = "a-b"\nversion = "3.17.4"\nsource = { registry = "x" }\n'),
        ("poetry.lock", '[[package]]\nname = "A_b"\nversion = "3.17.4"\ndescription = ""\n'),
        ("Pipfile.lock", '{"default": {\n        "a-b": {\n            "version": "==3.17.4"\n'),
        ("requirements.txt", "a.b[extra]==3.17.4 ; python_version > '3'\n"),
        ("requirements/base.txt", "c==9\na-b==3.17.4  # pinned\n"),
    ],
)
def test_a_pinned_version_excludes_bounds(tree, name, text):
    requirements = Requirements(Tree(str(tree({name: text}))))

    assert requirements.excludes("a-b", ">=5")
    assert not requirements.excludes("a-b", ">=3")
    assert not requirements.excludes("d", ">=5")


@pytest.mark.parametrize("text", ["a-b\n", "a-b>=3\n", "a-b==3.*\n", "a-b==3.1\na-b==5.1\n"])
def test_a_version_that_is_open_excludes_nothing(tree, text):
    requirements = Requirements(Tree(str(tree({"requirements.txt": text}))))

    assert not requirements.excludes("a-b", ">=5")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["requirements.txt", "setup.cfg", "pyproject.toml"])
def test_a_list_of_windows_is_in_another_encoding(tmp_path, encoding, name):
    mark = {"utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}.get(encoding, "")
    lists = {
        "requirements.txt": "flask\r\npsycopg2==2.9\r\n",
        "setup.cfg": "[options]\r\ninstall_requires =\r\n  psycopg2\r\n",
        "pyproject.toml": '[project]\r\ndependencies = ["psycopg2"]\r\n',
    }
    (tmp_path / name).write_bytes((mark + lists[name]).encode(encoding))
    assert "psycopg2" in Requirements(Tree(str(tmp_path)))


@pytest.mark.parametrize(
    ("requirements", "more", "count"),
    [
        ("gevent\npython-memcached\n", "", 0),
        ("gevent\npython-memcached\n", "import pylibmc\n", 1),
        ("gevent\npython-memcached\npylibmc\n", "", 1),
        ("gevent\n", "", 1),
        ("", "", 1),
    ],
)
def test_a_package_that_is_tried_beside_a_required_one_is_not_installed(
    tree, requirements, more, count
):
    text = (
        f"{more}try:\n    import memcache as client\nexcept ImportError: client = None\n"
        "try:\n    import pylibmc as client\nexcept ImportError: pass\n"
        "def app(environ, start_response):\n    client.Client(['db']).get('order')\n"
    )
    root = tree(
        {
            "Procfile": "web: gunicorn -k gevent cache:app\n",
            "requirements.txt": requirements,
            "cache.py": text,
        }
    )
    found = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml")))
    assert count == len(found.diagnostics)
