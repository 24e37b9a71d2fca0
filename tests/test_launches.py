"""Launches by the project's own code, and the evaluation of its command lines."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.project.names.declarations import Declarations
from gblock.project.names.partial_texts import HOLE, Text
from gblock.project.names.places import Place
from gblock.project.names.texts import Part, Texts
from gblock.project.processes.launches import launches
from gblock.project.reading.modules import Modules

STARTED = "gunicorn -k gevent app:app"


@pytest.fixture
def launched(tmp_path):
    """The commands that one file starts."""

    def of(text, name="start.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        found = launches(Modules(str(tmp_path), [str(path)]))
        return [(one.command.row, one.command.text, one.inside) for one in found]

    return of


@pytest.mark.parametrize(
    "text",
    [
        "os.execvp('gunicorn', ['gunicorn', '-k', 'gevent', 'app:app'])",
        "os.execv('gunicorn', ['web', '-k', 'gevent', 'app:app'])",
        "os.execlp('gunicorn', 'web', '-k', 'gevent', 'app:app')",
        "os.spawnvp(os.P_WAIT, 'gunicorn', ['web', '-k', 'gevent', 'app:app'])",
        "os.spawnlp(os.P_WAIT, 'gunicorn', 'web', '-k', 'gevent', 'app:app')",
        "os.system('gunicorn -k gevent app:app')",
        "subprocess.run(['gunicorn', '-k', 'gevent', 'app:app'], check=True)",
        "subprocess.Popen(args=['gunicorn', '-k', 'gevent', 'app:app'])",
        "subprocess.call('gunicorn -k gevent app:app', shell=True)",
        "subprocess.call('gunicorn -k gevent app:app'.split())",
        "subprocess.call(shlex.split('gunicorn -k gevent app:app'))",
        "subprocess.call(['gunicorn'] + ['-k', 'gevent', 'app:app'])",
        "subprocess.call(['gunicorn', *('-k', 'gevent'), 'app:app'])",
        "subprocess.call(' '.join(['gunicorn', '-k', 'gevent', 'app:app']), shell=True)",
        "context.run('gunicorn -k %s app:app' % 'gevent')",
        "context.run('gunicorn -k {} app:app'.format('gevent'))",
        "await asyncio.create_subprocess_exec('gunicorn', '-k', 'gevent', 'app:app')",
        "sys.argv = ['gunicorn', '-k', 'gevent', 'app:app']  # call",
        "os.system('gunicorn -k ' + os.environ.get('KIND', 'gevent') + ' app:app')",
        "layer = {'services': {'web': {'command': 'gunicorn -k gevent app:app'}}}",
        "client.create(**{'image': 'shop', 'command': ['gunicorn', '-k', 'gevent', 'app:app']})",
    ],
)
def test_a_command_is_read_where_code_starts_it(launched, text):
    assert [(1, STARTED, False)] == launched(text + "\n")


def test_a_command_may_be_put_together(launched):
    text = (
        "KIND = 'gevent'\n"
        "def start(port):\n"
        "    words = ['gunicorn', '-b', f':{port}']\n"
        "    words += ['-k', KIND]\n"
        "    words.append('app:app')\n"
        "    subprocess.Popen(words)\n"
    )
    assert [(6, "gunicorn -b :$x -k gevent app:app", False)] == launched(text)


LONG = "# a comment\n" * 40 + "gunicorn -k gevent app:app\n"
BUILT = {
    "a constant of another module": (
        "from conf import KIND, WORDS\nos.system('gunicorn -k ' + KIND + ' app:app')"
    ),
    "a module's attribute": "import conf\nos.system(f'gunicorn -k {conf.KIND} app:app')",
    "a list of another module": "from conf import WORDS\nos.execvp('gunicorn', WORDS)",
    "a function's result": (
        "def words():\n    return ['gunicorn', '-k', 'gevent', 'app:app']\nsubprocess.run(words())"
    ),
    "a function of another module": "from conf import words  # gunicorn\nsubprocess.run(words())",
    "an attribute of self": (
        "class Server:\n    def __init__(self):\n        self.kind = 'gevent'\n"
        "    def start(self):\n        subprocess.run(['gunicorn', '-k', self.kind, 'app:app'])"
    ),
    "an attribute of the class": (
        "class Server:\n    KIND = 'gevent'\n"
        "    def start(self):\n        subprocess.run(['gunicorn', '-k', self.KIND, 'app:app'])"
    ),
    "an inherited attribute": (
        "from conf import Base\nclass Server(Base):\n"
        "    def start(self):\n        subprocess.run(['gunicorn', '-k', self.kind, 'app:app'])"
    ),
    "a property": (
        "class Server:\n    @property\n    def kind(self):\n        return 'gevent'\n"
        "    def start(self):\n        subprocess.run(['gunicorn', '-k', self.kind, 'app:app'])"
    ),
    "a method": (
        "class Server:\n    def words(self):\n"
        "        return ['gunicorn', '-k', 'gevent', 'app:app']\n"
        "    def start(self):\n        subprocess.run(self.words())"
    ),
    "a settings object": (
        "from conf import settings\nos.system(f'gunicorn -k {settings.kind} app:app')"
    ),
    "a wrapper": (
        "def start(words):\n    subprocess.call(words)\nstart('gunicorn -k gevent app:app')"
    ),
    "a sum of lists": (
        "words = ['gunicorn']\nsubprocess.run(words + ['-k', 'gevent'] + ['app:app'])"
    ),
    "a sum of names": "a = ['gunicorn', '-k']\nb = ['gevent', 'app:app']\nsubprocess.run(a + b)",
    "an extended list": (
        "a = ['gunicorn', '-k']\nb = ['gevent', 'app:app']\na.extend(b)\nsubprocess.run(a)"
    ),
    "an added list": "a = ['gunicorn', '-k']\nb = ['gevent', 'app:app']\na += b\nsubprocess.run(a)",
    "an added text": "a = 'gunicorn'\na += ' -k gevent'\na += ' app:app'\nos.system(a)",
    "a list that is made anew": (
        "a = ['celery']\na.append('worker')\na = ['gunicorn', '-k']\na.append('gevent')\n"
        "a.append('app:app')\nsubprocess.run(a)\na.append('later')"
    ),
    "a copy": "a = ['gunicorn', '-k', 'gevent', 'app:app'].copy()\nsubprocess.run(a)",
    "a template by name": "os.system('gunicorn -k %(kind)s app:app' % {'kind': 'gevent'})",
    "format by name": "os.system('gunicorn -k {kind} app:app'.format(kind='gevent'))",
    "a text that is split": "subprocess.run(f\"gunicorn -k {'gevent'} app:app\".split(' '))",
    "many pieces": 'x = \'e\'\nos.system(f\'gunicorn -k g{x}v{x}nt{""} {"a"}{"p"}{"p"}:{"app"}\')',
    "a long script": f"os.system({LONG!r})",
}
CONF = """\
KIND = "gevent"
WORDS = ["gunicorn", "-k", KIND, "app:app"]
def words():
    return [*WORDS]
class Base:
    kind = KIND
class Settings:
    def __init__(self):
        self.kind = KIND
settings = Settings()
"""


@pytest.mark.parametrize("text", BUILT.values(), ids=BUILT.keys())
def test_a_command_is_followed_to_its_constants(tmp_path, text):
    names = {"start.py": text + "\n", "conf.py": CONF}
    for name, content in names.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = launches(Modules(str(tmp_path), [str(tmp_path / name) for name in names]))
    assert [STARTED] == [one.command.text for one in found]


def test_a_parameter_is_a_hole_in_a_command(launched):
    text = "def start(kind):\n    os.system(f'gunicorn -k {kind} app:app')\nstart('sync')\n"
    assert [(2, "gunicorn -k $x app:app", False)] == launched(text)


def test_a_result_that_is_known_in_part_is_a_hole(launched):
    text = (
        "def kind(x):\n    if x:\n        return 'sync'\n    return read(x)\n"
        "os.system(f'gunicorn -k {kind(1)} app:app')\n"
    )
    assert [(5, "gunicorn -k $x app:app", False)] == launched(text)


def test_branches_that_exclude_each_other_add_to_their_own_list(launched):
    text = (
        "if x:\n    words = ['celery', 'worker']\n"
        "    words.append('-P')\n    words.append('gevent')\n"
        "else:\n    words = ['gunicorn']\n    words.append('app:app')\nsubprocess.run(words)\n"
    )
    assert ["celery worker -P gevent", "gunicorn app:app"] == [one for _, one, _ in launched(text)]


def test_a_command_in_a_display_is_reported_with_its_row(launched):
    text = "web = {\n    'image': 'shop',\n    'command': ['gunicorn', 'app:app'],\n}\n"
    assert [(3, "gunicorn app:app", False)] == launched(text)


def test_names_that_import_each_other_end(tmp_path):
    names = {
        "a.py": "from b import words\nimport os\nos.system(words)  # gunicorn\n",
        "b.py": "from a import words\nfrom c import *\n",
        "c.py": "from b import *\n",
    }
    for name, content in names.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert [] == launches(Modules(str(tmp_path), [str(tmp_path / name) for name in names]))


def test_both_sides_of_a_choice_are_commands(launched):
    text = "import os\nos.execvp('celery', ['celery', '-P', 'gevent' if big else 'prefork'])\n"
    assert ["celery -P gevent", "celery -P prefork"] == [one for _, one, _ in launched(text)]


def test_this_python_is_python(launched):
    text = "subprocess.Popen([sys.executable, '-m', 'celery', '-A', 'app', *sys.argv[1:]])\n"
    assert [(1, "python -m celery -A app", False)] == launched(text)


@pytest.mark.parametrize(
    "text",
    [
        "app.worker_main(['worker', '--pool=gevent'])  # celery",
        "app.worker_main(argv=['worker', '--pool=gevent'])  # celery",
        "app.Worker(pool='gevent').start()  # celery",
    ],
)
def test_a_process_can_become_a_worker_itself(launched, text):
    (found,) = launched(text + "\n")
    assert found[1].endswith("worker --pool=gevent")
    assert found[2]


@pytest.mark.parametrize(
    "text",
    [
        "print('gunicorn -k gevent app:app')",
        "run = 'gunicorn -k gevent app:app'",
        "call = ['gunicorn']",
        "def broken(:\n    os.system('gunicorn app')",
    ],
)
def test_what_starts_nothing_is_no_command(launched, text):
    assert [] == launched(text + "\n")


def test_the_set_up_of_an_installation_starts_nothing(launched):
    assert [] == launched("os.system('gunicorn app')\n", "setup.py")


def test_a_value_in_a_circle_ends(launched):
    assert [] == launched("a = b\nb = a\nos.system(a)  # gunicorn\n")


def spelled(tmp_path, text, lenient=False, **files):
    """Return the values of the first arguments of a file's calls."""
    path = tmp_path / "start.py"
    path.write_text(text, encoding="utf-8")
    for name, other in files.items():
        tmp_path.joinpath(name).parent.mkdir(exist_ok=True)
        tmp_path.joinpath(f"{name}.py").write_text(other, encoding="utf-8")
    modules = Modules(str(tmp_path), [str(path), *(str(tmp_path / f"{one}.py") for one in files)])
    texts = Texts(Declarations(modules), lenient=lenient)
    return [
        texts.spelled(Part(argument, Place(str(path), call.scope, call.path), call.statement))
        for call in modules.summary(str(path)).calls
        if call.node == "call"
        for argument in call.expression.positional[:1]
    ]


def test_what_is_not_known_leaves_a_hole(tmp_path):
    ((found,),) = spelled(tmp_path, "from conf import APP\nrun('gunicorn ' + other())\n")
    assert f"gunicorn {HOLE}" == found.spelled
    assert found.start == "gunicorn "
    assert not found.whole


A_CLASS = "class Conf:\n    url = 'x'\n"
CHAIN = "a0 = 'x'\n" + "".join(f"a{number + 1} = a{number}\n" for number in range(60))
VALUES = {
    "a path": ("", "os.path.join('a', 'b')", ["a/b"]),
    "a path of an imported function": ("", "join('a', 'b')", ["a/b"]),
    "words that are joined for a shell": ("", "shlex.join(['a', 'b'])", ["a b"]),
    "words that a shell splits": ("", "shlex.split(\"a 'b c'\")", [["a", "b c"]]),
    "words that a shell cannot split": ("", 'shlex.split("it\'s 1")', [["it's", "1"]]),
    "words with quotes": ("", "\"a 'b c'\".split()", [["a", "'b", "c'"]]),
    "a separator": ("", "'a,b,c'.split(',')", [["a", "b", "c"]]),
    "a number of splits": ("", "'a,b,c'.split(',', 1)", [["a", "b,c"]]),
    "a number of splits by keyword": ("", "'a b c'.split(maxsplit=1)", [["a", "b c"]]),
    "a separator by keyword": ("", "'a,b'.split(sep=',')", [["a", "b"]]),
    "an unknown separator": ("", "'a,b'.split(other())", []),
    "an unknown number of splits": ("", "'a,b'.split(',', other())", []),
    "an empty separator": ("", "'a,b'.split('')", []),
    "joined with nothing": ("", "''.join()", []),
    "an unknown list in a sum": ("", "['a'] + other()", [["a"]]),
    "an escaped percent": ("", "'100%% %s' % 'x'", ["100% x"]),
    "escaped braces": ("", "'{{}} {}'.format('x')", ["{} x"]),
    "names in a variable": ("names = {'a': 'x'}", "'%(a)s' % names", ["x"]),
    "a value that is not read": ("", "'a %s' % (lambda: 0)[0]", [f"a {HOLE}"]),
    "replaced further on": ("", "'a-b'.replace('-', '+')", ["a+b"]),
    "replaced by something unknown": ("", "'a-b'.replace('-', other())", [f"a{HOLE}b"]),
    "an element of too short a display": ("a, b = ('x',)", "b", []),
    "the rest of a display": ("a, *b = ['x', 'y']", "b", [["y"]]),
    "an index beyond a list": ("", "['a'][3]", []),
    "an index of a list": ("", "['a', 'b'][-1]", ["b"]),
    "what another function adds": ("a = ['x']\ndef f(): a.append('y')", "a", [["x"]]),
    "a dict": ("", "dict(a='x')", []),
    "an element of a dict": ("a = dict(b='x')", "a['b']", ["x"]),
    "settings of an application": (
        "class Config:\n    URL = 'x'\ndef f():\n    URL = 'y'",
        "app.config['URL']",
        ["x"],
    ),
    "a method": (f"{A_CLASS}    def of(self): return self.url", "Conf().of()", ["x"]),
    "an object of an annotated class": (
        f"{A_CLASS}class A:\n    @staticmethod\n    def of(conf: Conf): return conf.url",
        "A.of(c)",
        ["x"],
    ),
    "an annotation that is no class": ("def url(): pass\ndef f(a: url): return a.b", "f(c)", []),
    "a result of an object": (A_CLASS, "Conf()().url", []),
    "a call that leads to itself": ("def f(): return f()", "f()", []),
    "a name that leads to itself": ("a = b\nb = a", "a", []),
    "a long chain of names": (CHAIN, "a20", ["x"]),
    "too long a chain of names": (CHAIN, "a60", []),
    "too deep an expression": ("", "(" * 40 + "'a'" + "+ 'b')" * 40 + ".lower()" * 40, []),
    "keyword arguments": ("def f(**k): return k\n", "f(a='x')", []),
    "a name of the second star import": ("from one import *\nfrom two import *", "Y", ["y"]),
    "star imports in a circle": ("from circle import *", "Y", []),
    "a star import that is missing": ("from missing import *", "Y", []),
    "a name of a module": ("import one", "one.X", ["x"]),
    "a module of a package": ("import pkg.mod", "pkg.mod.X", ["x"]),
    "a module from a package": ("from pkg import mod", "mod.X", ["x"]),
    "a name that a package lacks": ("from pkg import other", "other.X", []),
    "a number that is not read": ("", "'a %s' % ~x", [f"a {HOLE}"]),
    "too many nested alternatives": ("", "(y or " * 60 + "'x'" + ")" * 60, []),
    "an attribute of a function": ("def f(): pass", "f.a", []),
}


@pytest.mark.parametrize(("before", "expression", "expected"), VALUES.values(), ids=VALUES)
def test_the_text_of_an_expression(tmp_path, before, expression, expected):
    files = {"one": "X = 'x'", "two": "Y = 'y'", "circle": "from start import *"}
    files["pkg/mod"] = "X = 'x'"
    found = spelled(tmp_path, f"{before}\nrun({expression})\n", **files)[-1]

    assert expected == [
        one.spelled if isinstance(one, Text) else [word.spelled for word in one.words]
        for one in found
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("other().replace('a', 'b')", [f"b{HOLE}"]),
        ("'x'.replace(other(), 'b')", [f"x{HOLE}", f"b{HOLE}"]),
        ("'x'.replace('a', 'b')", ["x", f"b{HOLE}"]),
        ("setting('URL', 'b')", ["b"]),
    ],
)
def test_what_is_likely_of_a_text(tmp_path, expression, expected):
    found = spelled(tmp_path, f"run({expression})\n", lenient=True)[-1]

    assert expected == [one.spelled for one in found]


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("import os.path as p\np.join()", "os.path.join"),
        ("from os import path\npath.join()", "os.path.join"),
        ("if y:\n    path = 1\nelse:\n    from os import path\npath.join()", "os.path.join"),
        ("path = 1\npath.join()", None),
        ("path.join()", None),
        ("x[0].join()", None),
    ],
)
def test_an_import_gives_a_name_its_symbol(tmp_path, text, symbol):
    path = tmp_path / "start.py"
    path.write_text(text, encoding="utf-8")
    modules = Modules(str(tmp_path), [str(path)])
    (call,) = (one for one in modules.summary(str(path)).calls if one.node == "call")

    place = Place(str(path), call.scope, call.path)
    assert symbol == Declarations(modules).symbol(call.expression.callee, place)


def asked(tmp_path, text):
    """The declarations of a project, with the last call of its first file and its place."""
    files = {
        "start.py": text,
        "shop.py": "from shelf import Shelf as Store\nfrom flask import Flask\n"
        "class Shop(Flask):\n    pass\ndef make():\n    return Shop()\nOther = Shop\n",
        "shelf.py": "class Shelf:\n    pass\n",
        "stars.py": "from shop import *\nfrom celery import *\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    modules = Modules(str(tmp_path), [str(tmp_path / name) for name in files])
    call = modules.summary(str(tmp_path / "start.py")).calls[-1]
    place = Place(str(tmp_path / "start.py"), call.scope, call.path)
    return Declarations(modules), modules, call.expression.positional[0], place


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("shop.Shop", {("class", "Shop")}),
        ("shop.Store", {("class", "Shelf")}),
        ("shop.Shop()", {("object", "Shop")}),
        ("shop.make", {("function", "make")}),
        ("shop.make()", {("object", "Shop")}),
        ("shop.Shop if x else shop.Store", {("class", "Shop"), ("class", "Shelf")}),
        ("(shop.make or shop.Store)()", {("object", "Shop"), ("object", "Shelf")}),
        ("lazy()", {("object", "Shop")}),
        ("again()", set()),  # ends
        ("unknown()", set()),
        ("shop.Shop[0]", set()),
    ],
)
def test_declarations_say_what_an_expression_can_be(tmp_path, expression, expected):
    lazy = "def lazy():\n    if x:\n        return shop.make()\n    return shop.Shop()\n"
    again = "def again():\n    return again()\n"
    text = f"import shop\n{lazy}{again}run({expression})\n"
    declarations, modules, argument, place = asked(tmp_path, text)
    found = declarations.values(argument, place)

    named = {(one.kind, modules.summary(one.path).scopes[one.scope].name) for one in found}
    assert expected == named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import flask\nrun(flask.Flask)", {"flask.Flask"}),
        ("from flask import Flask\nrun(Flask)", {"flask.Flask"}),
        ("from flask import Flask\nApp = Flask\nrun(App)", {"flask.Flask"}),
        ("from shop import Flask\nrun(Flask)", {"flask.Flask"}),
        ("from shop import Shop\nrun(Shop)", {"flask.Flask"}),
        ("from shop import Other\nrun(Other)", {"flask.Flask"}),
        ("from shop import Store\nrun(Store)", set()),
        ("from stars import Celery\nrun(Celery)", {"celery.Celery"}),
        ("from celery import *\nrun(Celery)", {"celery.Celery"}),
        ("from shop import *\nrun(Flask)", {"flask.Flask"}),
        ("from . import absent\nrun(absent.Flask)", set()),
        ("A = B\nB = A\nrun(A)", set()),
        ("run(x())", set()),
    ],
)
def test_declarations_say_which_names_of_packages_an_expression_stands_for(
    tmp_path, text, expected
):
    declarations, _, argument, place = asked(tmp_path, f"{text}\n")
    assert expected == set(declarations.origins(argument, place))


PARTS = [
    "x",
    "'a %s'",
    "f'{x}'",
    "[x, 'b']",
    "(*x,)",
    "x + x",
    "x % x",
    "x.split()",
    "''.join(x)",
    "x.format(x, a=x)",
    "x.replace(x, x)",
    "x[0]",
    "x.strip(x)",
    "x.lower(1)",
    "x or f(x)",
    "[y for y in x]",
]
CHANGES = ["x = {}", "x += {}", "x.append({})", "x.extend({})", "for x in {}: pass"]


@settings(
    deadline=None,
    max_examples=examples(200),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(PARTS)), min_size=1, max_size=8)
)
def test_no_expression_raises(tmp_path, parts):
    text = "def f(x):\n    return x\n"
    text += "".join(change.format(part) + "\n" for change, part in parts) + "os.system(x)\n"
    for found in spelled(tmp_path, text):
        assert len(found) <= 40
        assert all(isinstance(one, Text) or len(one.words) < 10_000 for one in found)
