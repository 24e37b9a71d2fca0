"""Calls that are off by default, and on where a client sends the file that they parse."""

from __future__ import annotations

import textwrap

import pytest
from harness import CATALOG, check, every

from gblock.config import Config

ID = "pandas-read-csv"
OF_UPLOADS = [blocker for blocker in CATALOG.blockers if blocker.uploaded]
FLASK = """\
from gevent import monkey; monkey.patch_all()
import io, os, shutil, tempfile
from pathlib import Path
import pandas as pd
from flask import Flask, request
from werkzeug.datastructures import FileStorage
from werkzeug.utils import secure_filename
app = Flask(__name__)
{helpers}
@app.post("/orders")
def post():
{body}
    return ""
"""
DJANGO = """\
import pandas as pd
from rest_framework.views import APIView
from django.core.files.uploadedfile import UploadedFile
{helpers}
class Orders(APIView):
    def post(self, request):
{body}
"""
SETTINGS = "ROOT_URLCONF = 'shop.urls'\nINSTALLED_APPS = []\n"
URLS = (
    "from django.urls import path\nfrom shop import views\n"
    "urlpatterns = [path('orders', views.Orders.as_view())]\n"
)


def reported(root, **options):
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    return check([str(root)], config, **options).diagnostics


def served(tree, body, helpers="", **options):
    text = FLASK.format(body=textwrap.indent(body, "    "), helpers=helpers)
    root = tree({"app.py": text, "Procfile": "web: gunicorn -k gevent app:app\n"})
    return reported(root, **options)


def of_flask(tree, body, helpers="", **options):
    return [one for one in served(tree, body, helpers, **options) if one.blocker == ID]


SAVED = 'f = request.files["f"]\npath = os.path.join("/tmp", "x.csv")\nf.save(path)\n'
LOAD = "def load(path):\n    return pd.read_csv(path)\n"
STORE = "def store(f):\n    path = os.path.join('/tmp', 'x')\n    f.save(path)\n    return path\n"
IMPORTER = """\
class Importer:
    def __init__(self, file):
        self.file = file
    def run(self):
        return pd.read_csv(self.file, sep=";")
"""


@pytest.mark.parametrize(
    ("body", "helpers"),
    [
        ('pd.read_csv(request.files["f"])', ""),
        ('pd.read_csv(request.files.get("f"), sep=";")', ""),
        ('f = request.files.get("f")\nif f:\n    pd.read_csv(f.stream)', ""),
        ('for f in request.files.getlist("f"):\n    pd.read_csv(f)', ""),
        ("for f in request.files.values():\n    pd.read_csv(f)", ""),
        ('[pd.read_csv(f) for f in request.files.getlist("f")]', ""),
        ('data = request.files["f"].read()\npd.read_csv(io.BytesIO(data))', ""),
        ('text = request.files["f"].read().decode("utf-8")\npd.read_csv(io.StringIO(text))', ""),
        ('pd.read_csv(filepath_or_buffer=request.files["f"])', ""),
        (SAVED + "pd.read_csv(path)", ""),
        (SAVED + "pd.read_csv(Path(path))", ""),
        (SAVED + "with open(path) as file:\n    pd.read_csv(file)", ""),
        (SAVED + "load(path)", LOAD),
        ('pd.read_csv(store(request.files["f"]))', STORE),
        ('f = request.files["f"]\npd.read_csv(f"/tmp/{secure_filename(f.filename)}")', ""),
        ('with open("/tmp/x", "wb") as o:\n    o.write(request.files["f"].read())', ""),
        (
            'path = "/tmp/x"\nwith open(path, "wb") as o:\n    o.write(request.files["f"].read())\n'
            "pd.read_csv(path)",
            "",
        ),
        (
            'with tempfile.NamedTemporaryFile() as t:\n    request.files["f"].save(t.name)\n'
            "    pd.read_csv(t.name)",
            "",
        ),
        (
            'with tempfile.NamedTemporaryFile() as t:\n    t.write(request.files["f"].read())\n'
            "    pd.read_csv(t.name)",
            "",
        ),
        (
            'path = "/tmp/x"\nwith open(path, "wb") as o:\n'
            '    shutil.copyfileobj(request.files["f"].stream, o)\npd.read_csv(path)',
            "",
        ),
        ('load(request.files["f"])', LOAD),
        ('load(request.args["f"])', "def load(file: FileStorage):\n    return pd.read_csv(file)\n"),
        ('Importer(request.files["f"]).run()', IMPORTER),
    ],
)
def test_a_file_that_a_client_sends(tree, body, helpers):
    expected = 0 if "read_csv" not in body + helpers else 1
    assert expected == len(of_flask(tree, body, helpers))


@pytest.mark.parametrize(
    ("body", "helpers"),
    [
        ('pd.read_csv("rates.csv")', ""),
        ('pd.read_csv(request.args["path"])', ""),
        (SAVED + 'pd.read_csv("rates.csv")', ""),
        (SAVED + "other = os.environ['RATES']\npd.read_csv(other)", ""),
        ('request.files["f"]\nload("rates.csv")', LOAD),
        ("pd.read_csv()", ""),
        ("pd.read_csv(*request.args)", ""),
        ('path = "rates.csv"\nrequest.form["f"].save(path)\npd.read_csv(path)', ""),
        (
            'f = request.files["f"]\nwith open("/tmp/x", "wb") as o:\n    o.write(f.read())\n'
            "with open('rates.csv') as o:\n    pd.read_csv('rates.csv')",
            "",
        ),
        (
            "load(path)",
            "path = load\ndef load(path):\n    return pd.read_csv(path or load(path))\n",
        ),
    ],
)
def test_a_file_of_the_service(tree, body, helpers):
    assert [] == of_flask(tree, body, helpers)
    assert of_flask(tree, body, helpers, select=("all",))


@pytest.mark.parametrize(
    ("body", "helpers"),
    [
        ('pd.read_csv(request.FILES["f"])', ""),
        ('pd.read_csv(self.request.FILES.get("f"))', ""),
        ('Importer(request.FILES["f"]).run()', IMPORTER),
        (
            'store(request.FILES["f"], "/tmp/x")',
            "def store(f, path):\n    with open(path, 'wb') as out:\n        for c in f.chunks():\n"
            "            out.write(c)\n    return pd.read_csv(path)\n",
        ),
        ("load(1)", "def load(file: UploadedFile):\n    return pd.read_csv(file)\n"),
    ],
)
def test_a_file_that_django_receives(tree, body, helpers):
    text = DJANGO.format(body=textwrap.indent(body, " " * 8), helpers=helpers)
    root = tree(
        {
            "shop/__init__.py": "",
            "shop/settings.py": SETTINGS,
            "shop/urls.py": URLS,
            "shop/views.py": text,
            "shop/wsgi.py": "from django.core.wsgi import get_wsgi_application\n"
            "application = get_wsgi_application()\n",
            "Procfile": "web: gunicorn -k gevent shop.wsgi\n",
        }
    )
    assert [ID] == [one.blocker for one in reported(root) if one.blocker == ID]


PDF = 'import fitz\ndoc = fitz.open(stream=request.files["f"].read(), filetype="pdf")\n'
ZIP = 'import zipfile\narchive = zipfile.ZipFile(request.files["f"])\n'
KEEPER = """\
import fitz
class Text:
    def __init__(self, path):
        self.path = path
    def get(self):
        with fitz.open(self.path) as doc:
            return [page.get_text() for page in doc]
"""


@pytest.mark.parametrize(
    ("body", "helpers", "blocker"),
    [
        (PDF + "for page in doc:\n    page.get_text()", "", "pymupdf-get-text"),
        (PDF + "text = [page.get_text() for page in doc]", "", "pymupdf-get-text"),
        (PDF + "doc[0].get_text()", "", "pymupdf-get-text"),
        (PDF + "doc.load_page(0).get_text()", "", "pymupdf-get-text"),
        (SAVED + "Text(path).get()", KEEPER, "pymupdf-get-text"),
        (ZIP + 'archive.read("a")', "", "zipfile-read"),
        (ZIP + "for name in archive.namelist():\n    archive.read(name)", "", "zipfile-read"),
        (
            'import gzip\nwith gzip.GzipFile(fileobj=request.files["f"]) as g:\n    g.read()',
            "",
            "gzip-file",
        ),
        (PDF + 'fitz.open("own.pdf")[0].get_text()', "", None),
        (ZIP + 'with zipfile.ZipFile("own.zip") as own:\n    own.read("a")', "", None),
        ('Text("own.pdf").get()\nrequest.files["f"].read()', KEEPER, None),
    ],
)
def test_what_is_made_of_a_file_that_a_client_sends(tree, body, helpers, blocker):
    found = [one.blocker for one in served(tree, body, helpers)]
    assert ([blocker] if blocker else []) == found


def test_the_message_says_whose_file_it_is(tree):
    (found,) = of_flask(tree, 'pd.read_csv(request.files["f"])')
    assert "computes on a file that a client sends" in found.message
    (found,) = of_flask(tree, 'pd.read_csv(request.files["f"])', select=(ID,))
    assert "client" not in found.message


def test_an_object_of_unknown_type_is_no_unresolved_call(tree):
    root = tree({"app.py": "import docx, gevent\n\ndef save(document):\n    document.save('x')\n"})
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    assert 0 == check([str(root)], config).unresolved


def test_ignoring_one_leaves_the_others(tree):
    body = 'pd.read_csv(request.files["f"])'
    assert [] == of_flask(tree, body, ignore=(ID,))
    assert of_flask(tree, body, ignore=("python-docx-open",))
    assert [] == of_flask(tree, 'pd.read_csv("x.csv")', ignore=("python-docx-open",))


@pytest.mark.parametrize(
    ("argument", "is_reported"), [('request.files["f"]', True), ('"own"', False)]
)
def test_each_blocker_of_uploads(tree, argument, is_reported):
    files = {f"h{number}.py": _handler(one, argument) for number, one in enumerate(OF_UPLOADS)}
    found = {one.blocker for one in reported(tree(files))}
    expected = {one.id for one in OF_UPLOADS} if is_reported else set()
    assert expected == {one.id for one in OF_UPLOADS if one.id in found}


@every(OF_UPLOADS)
def test_only_what_is_off_by_default_needs_an_upload(blocker):
    assert blocker.level == "opt-in"


def _handler(blocker, argument):
    """Write a handler that calls each symbol of a blocker with one argument."""
    first = blocker.uploaded[0]
    made, given = (argument, "") if first.receiver else ("", argument)
    if first.position is None and not first.receiver:
        given = f"{first.keyword}={argument}"
    calls, modules = [], set()
    for symbol in blocker.symbols:
        *parts, name = symbol.split(".")
        is_method = parts[-1][:1].isupper() and len(parts) > 1
        modules.add(".".join(parts[:-1] if is_method else parts))
        calls.append(f"    {'.'.join(parts)}{f'({made})' if is_method else ''}.{name}({given})\n")
    imports = "".join(f"import {module}\n" for module in sorted(modules))
    return (
        f"from flask import Flask, request\n{imports}app = Flask(__name__)\n"
        f"@app.post('/')\ndef post():\n{''.join(calls)}    return ''\n"
    )
