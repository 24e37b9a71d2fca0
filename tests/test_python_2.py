"""Files in Python 2: what they declare is known, and they are reported as invalid."""

from __future__ import annotations

import ast
from contextlib import suppress

import pytest
from harness import check, inferring
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.config import Config
from gblock.project.reading.parsing import UNPARSABLE
from gblock.project.reading.python_2 import as_python_3

WRITTEN = {
    "print": ('print "sent", x', 'print("sent", x)'),
    "print without a space": ('print"sent"', 'print("sent")'),
    "print in a clause": ("if x: print x; y = 1", "if x: print(x); y = 1"),
    "print before a comment": ("print x  # now", "print(x)  # now"),
    "print on several rows": ('print "%s" % (\n    x)', 'print("%s" % (\n    x))'),
    "print with a backslash": ('print "a" \\\n    % x', 'print("a" \\\n    % x)'),
    "print without a newline": ('print "a",', 'print("a",)'),
    "exec": ("exec code in ns", "exec(code in ns)"),
    "raise": ('raise E, "x"', 'raise(E, "x")'),
    "raise with a trace": ("raise E, None, tb", "raise(E, None, tb)"),
    "an exception": ("try: x\nexcept E, e: x", "try: x\nexcept E as  e: x"),
    "exceptions": ("try: x\nexcept (A, B), e: x", "try: x\nexcept (A, B) as  e: x"),
    "backticks": ("y = `x` + `y`", "y = (x) + (y)"),
    "unequal": ("x <> y", "x != y"),
    "octal": ("chmod(p, 0755)", "chmod(p,  755)"),
    "long": ("y = 10L + 0xffL", "y = 10  + 0xff "),
    "a raw text": ('y = ur"\\d"', 'y =  r"\\d"'),
    "a name that became a keyword": ("q.async(async=1)", "q.asynC(asynC=1)"),
    "another": ("gate.await(1)", "gate.awaiT(1)"),
    "an unpacked parameter": ("def f(self, (a, b), c): pass", "def f(self,  a, b , c): pass"),
    "one of a lambda": ("y = lambda (k, v): v", "y = lambda  k, v : v"),
    "tabs and spaces": ("if x:\n        y()\n\tz()", "if x:\n        y()\n        z()"),
}


@pytest.mark.parametrize(("written", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_python_2_is_python_3_on_the_same_rows(written, expected):
    with pytest.raises(SyntaxError):
        ast.parse(written)
    assert as_python_3(written) == expected
    assert ast.parse(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'print("sent")\n',
        "raise E('a, b') from None\n",
        '# print "x"\ny = "print x, 0755 <> `y`"\n',
        "print >>out, x\n",
        "x = 1.5e-04 + 0 + 0.07\n",
        "async def f():\n    async with a: pass\n",
        "def f(a, b=(1, 2)): pass\n",
    ],
)
def test_what_both_mean_is_left_alone(text):
    assert as_python_3(text) == text


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from([written for written, _ in WRITTEN.values()]), min_size=1))
def test_statements_of_python_2_are_read_together(parts):
    assert ast.parse(as_python_3("\n".join(parts) + "\n"))


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*"[](){}\"'\\#:,=*!`\t\n ", "print ", "raise ", "def f", "0", "7L", '"""', "lambda "]
        ),
        max_size=40,
    )
)
def test_any_text_keeps_its_rows(parts):
    text = "".join(parts)
    found = as_python_3(text)
    assert found.count("\n") == text.count("\n")
    with suppress(*UNPARSABLE):
        ast.parse(found)


def test_declarations_of_a_file_in_python_2_are_known(tmp_path):
    inference = inferring(tmp_path, {"a.py": "import os\nprint os.name\nX = 1\n"})
    summary = inference.modules.summary(str(tmp_path / "a.py"))
    assert set(summary.scopes[0].bindings) == {"os", "X"}
    assert not inference.modules.parses(str(tmp_path / "a.py"))


FILES = {
    "requirements.txt": "gunicorn\ngevent\nFlask-SQLAlchemy\npsycopg2\n",
    "Procfile": "web: gunicorn -k gevent web:app\n",
    "config.py": 'print "read"\nDATABASE = "postgresql://db/shop"\n',
    "web.py": (
        "from flask import Flask\nfrom flask_sqlalchemy import SQLAlchemy\n"
        "from config import DATABASE\nimport work\n"
        "app = Flask(__name__)\napp.config['SQLALCHEMY_DATABASE_URI'] = DATABASE\n"
        "db = SQLAlchemy(app)\n"
        "class Order(db.Model): pass\n"
        "@app.route('/')\ndef index():\n    return Order.query.all()\n"
    ),
    "views.py": (
        "from web import app\nimport work\n@app.route('/a')\ndef a():\n"
        "    print 'now'\n    work.wait()\n"
    ),
    "work.py": "import os\ndef wait():\n    os.wait()\n",
}


def test_other_files_need_what_a_file_in_python_2_says(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "Procfile").write_text("web: gunicorn -k gevent views:app\n")
    found = check([str(tmp_path)], Config(root=str(tmp_path))).diagnostics
    places = {(one.filename.rpartition("/")[2], one.code, one.context) for one in found}
    assert ("config.py", "invalid-syntax", "") in places
    assert ("work.py", "blocking-call", "request") in places
    assert any(one.code == "blocking-driver" for one in found)


@pytest.mark.parametrize(("text", "count"), [("print('late')", 1), ("print 'late'", 0)])
def test_a_late_patch_of_tls_raises_in_python_3_alone(tmp_path, text, count):
    files = {
        "Procfile": "web: python serve.py\n",
        "serve.py": "import urllib3, old\nfrom gevent import monkey\nmonkey.patch_all()\n"
        "from gevent.pywsgi import WSGIServer\nWSGIServer(('', 80), old.app).serve_forever()\n",
        "old.py": f"def app(environ, start_response):\n    {text}\n",
    }
    for name, written in files.items():
        (tmp_path / name).write_text(written)
    found = check([str(tmp_path)], Config(root=str(tmp_path))).diagnostics
    assert count == len([one for one in found if one.code == "late-monkey-patch"])
