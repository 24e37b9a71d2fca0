"""Functions that a request reaches indirectly: each form, and the same form of a command.

Each form is tried in a project whose other modules use all of its names for something else. Beside
the function that the form leads to stands another one, ``idle``, to which nothing leads.
"""

import pytest
from harness import unrelated
from test_contexts import reported

FLASK = "from flask import Flask, request\napp = Flask(__name__)\n"
KEY = "def key(): return request.args['key']\n"
PLACE = "def place(*given): return CALL\n"
IDLE = "def idle(*given): return CALL\n"
USES = {
    "request": "@app.route('/')\ndef index():\n    {}\n",
    "command": "import click\n@click.command()\ndef index():\n    {}\n",
}
WRAP = "def wrap(f):\n    def run(*args):\n        return f(*args)\n    return run\n"
RUNNER = "class Runner:\n    name = 'a'\n    def run(self): return CALL\nCLASSES = [Runner]\n"
TABLE = "TABLE[key()]()"
EACH = "for one in EVERY: one()"

COLLECTED = {
    "a dict comprehension of wrapped functions": (
        f"{WRAP}{PLACE}BY = {{'a': place}}\nTABLE = {{k: wrap(f) for k, f in BY.items()}}",
        TABLE,
    ),
    "a list comprehension": (f"{WRAP}{PLACE}ALL = [place]\nEVERY = [wrap(f) for f in ALL]", EACH),
    "one of a display": (f"{WRAP}{PLACE}EVERY = [wrap(f) for f in (place,)]", EACH),
    "a generator": (f"{WRAP}{PLACE}EVERY = tuple(wrap(f) for f in [place])", EACH),
    "nested lists": (f"{PLACE}ALL = [[place]]\nEVERY = [f for one in ALL for f in one]", EACH),
    "a dict of a generator": (
        f"{PLACE}ALL = [place]\nTABLE = dict((f.__name__, f) for f in ALL)",
        TABLE,
    ),
    "pairs of zip": (f"{PLACE}TABLE = dict(zip(['a'], [place]))", TABLE),
    "map": (f"{WRAP}{PLACE}EVERY = list(map(wrap, [place]))", EACH),
    "lambdas": (f"{PLACE}TABLE = {{n: (lambda: place(n)) for n in 'ab'}}", TABLE),
    "a ChainMap": (
        f"from collections import ChainMap\n{PLACE}TABLE = ChainMap({{'a': place}}, {{}})",
        TABLE,
    ),
    "classes by their names": (
        f"{RUNNER}TABLE = {{one.name: one for one in CLASSES}}",
        "TABLE[key()]().run()",
    ),
    "objects by their names": (
        f"{RUNNER}TABLE = {{one.name: one() for one in CLASSES}}",
        "TABLE[key()].run()",
    ),
}
ON = "TABLE = {}\ndef on(name, rank=0):\n    def add(f):\n        TABLE[name] = f\n"
ON += "        return f\n    return add\n"
CLASS_ON = "TABLE = {}\nclass on:\n    def __init__(self, name):\n        self.name = name\n"
CLASS_ON += "    def __call__(self, f):\n        TABLE[self.name] = f\n        return f\n"
BUS = """
class Bus:
    def __init__(self):
        self.handlers = {}

    def on(self, name):
        def add(f):
            self.handlers.setdefault(name, []).append(f)
            return f
        return add

    def emit(self, name):
        for handler in self.handlers[name]:
            handler()

bus = Bus()
"""
RESOLVED = """
class Runner:
    def __init__(self):
        self.resolved = {'a': []}
        for key in self.resolved:
            TAKEN
    def run(self):
        for one in self.resolved[key()]: one()
class Scan(Runner): pass
"""
OF_CLASSES = "HOOKS = {Scan: {'a': [place]}}"
TAKEN_OVER = {
    "extended by an element": "self.resolved[key].extend(HOOKS[type(self)][key])",
    "extended by one of get()": "self.resolved[key].extend(HOOKS.get(type(self), {}).get(key, []))",
    "set to one of get()": "self.resolved[key] = HOOKS.get(type(self), {}).get(key, [])",
    "added": "self.resolved[key] += HOOKS[type(self)].get(key, [])",
    "setdefault": "self.resolved.setdefault(key, []).extend(HOOKS[type(self)][key])",
    "one by one": "for h in HOOKS.get(type(self), {})[key]: self.resolved[key].append(h)",
}
COLLECTED |= {
    f"a table of tables, {title}": (
        f"{PLACE}{RESOLVED.replace('TAKEN', taken)}{OF_CLASSES}",
        "Scan().run()",
    )
    for title, taken in TAKEN_OVER.items()
}
REGISTERED = {
    "a decorator that is called": (f"{ON}{PLACE}on('a', rank=1)(place)", TABLE),
    "a decorator under a name": (f"{ON}{PLACE}put = on('a')\nput(place)", TABLE),
    "a decorator in a loop": (f"{ON}{PLACE}for n, f in [('a', place)]: on(n)(f)", TABLE),
    "a decorator of an object": (f"{BUS}{PLACE}bus.on('a')(place)", "bus.emit(key())"),
    "a class that decorates": (f"{CLASS_ON}@on('a')\n{PLACE}", TABLE),
    "an object that is called": (f"{CLASS_ON}{PLACE}on('a')(place)", TABLE),
    "a method": (
        f"{ON}class Shop:\n    def __init__(self): on('a')(self.place)\n"
        "    def place(self): return CALL\nShop()",
        TABLE,
    ),
}
CHOOSE = f"{PLACE}def choose(k):\n"
RETURNED = {
    "a function that returns it": (f"{CHOOSE}    return place", "choose(key())()"),
    "one of two": (f"{CHOOSE}    return place if k else None", "chosen = choose(1)\nchosen()"),
    "after a test": (f"{CHOOSE}    if k: return place\n    return None", "choose(key())()"),
    "by a variable": (f"{CHOOSE}    f = None\n    if k: f = place\n    return f", "choose(1)()"),
    "after match": (
        f"{CHOOSE}    match k:\n        case 'a': return place\n        case _: return None",
        "choose(key())()",
    ),
    "a table": (f"{CHOOSE}    return {{'a': place}}[k]", "choose(key())()"),
    "a table with a default": (f"{CHOOSE}    return {{'a': print}}.get(k, place)", "choose(1)()"),
    "a table behind a cache": (
        f"import functools\n{PLACE}@functools.lru_cache\ndef choose(k):\n"
        "    return {'a': place}.get(k, print)",
        "choose(key())()",
    ),
    "a method": (
        "class Shop:\n    def get(self, k): return self.place\n    def place(self): return CALL\n"
        "shop = Shop()",
        "shop.get(key())()",
    ),
    "an attribute": (
        f"{PLACE}class Shop:\n    f = None\n    def get(self): return self.f\n"
        "shop = Shop()\nshop.f = place",
        "shop.get()()",
    ),
    "a default": (f"{PLACE}def run(f=place): return f()", "run()"),
    "a weak reference": (f"import weakref\n{PLACE}later = weakref.ref(place)", "later()()"),
}
FIELDS = {
    "a namedtuple": (
        "from collections import namedtuple\nStep = namedtuple('Step', 'name run')\n"
        f"{PLACE}STEPS = [Step('a', place)]",
        "for one in STEPS: one.run()",
    ),
    "a namedtuple by keyword": (
        "from collections import namedtuple\nStep = namedtuple('Step', 'name run')\n"
        f"{PLACE}step = Step(name='a', run=place)",
        "step.run()",
    ),
    "a namespace": (
        f"from types import SimpleNamespace\n{PLACE}steps = SimpleNamespace(run=place)",
        "steps.run()",
    ),
    "a static method": (
        f"{PLACE}class Shop:\n    place = staticmethod(place)\nshop = Shop()",
        "shop.place()",
    ),
}
SHOP = "class Shop:\n    found = 1\n    def {}(self, *given): return CALL\nshop = Shop()"
IMPLIED = {
    "a property": (f"{SHOP.format('get')}\nShop.x = 1", "shop.get()"),
    "property()": (
        "class Shop:\n    def get(self): return CALL\n    stock = property(get)\nshop = Shop()",
        "shop.stock",
    ),
    "a lambda in property()": (
        "class Shop:\n    stock = property(lambda self: CALL)\nshop = Shop()",
        "shop.stock",
    ),
    "a property that is set": (
        "class Shop:\n    def put(self, stock): CALL\n    stock = property(None, put)\n"
        "shop = Shop()",
        "shop.stock = 1",
    ),
    "a property in another call": (
        "from sqlalchemy.orm import synonym\nclass Shop:\n    def put(self, stock): CALL\n"
        "    stock = synonym('_stock', descriptor=property(None, put))\nshop = Shop()",
        "shop.stock = 1",
    ),
    "an item": (SHOP.format("__getitem__"), "shop[key()]"),
    "an item that is set": (SHOP.format("__setitem__"), "shop[key()] = 1"),
    "in": (SHOP.format("__contains__"), "return key() in shop"),
    "len()": (SHOP.format("__len__"), "len(shop)"),
    "str()": (SHOP.format("__str__"), "str(shop)"),
    "an f-string": (SHOP.format("__str__"), "return f'{shop}'"),
    "==": (SHOP.format("__eq__"), "return key() == shop"),
    "any attribute": (SHOP.format("__getattr__"), "shop.anything"),
    "a proxy": (
        f"from werkzeug.local import LocalProxy\n{PLACE}user = LocalProxy(place)",
        "user.name",
    ),
    "a proxy of a lambda": (
        f"from werkzeug.local import LocalProxy\n{PLACE}user = LocalProxy(lambda: place())",
        "user.name",
    ),
}
DECORATING = {
    "before": (
        f"import tenacity\n{PLACE}@tenacity.retry(before=place)\ndef work(): pass",
        "work()",
    ),
    "in another call": (
        "from tenacity import retry, retry_if_result\n"
        f"{PLACE}@retry(retry=retry_if_result(place))\ndef work(): pass",
        "work()",
    ),
    "giving up": (
        f"import backoff\n{PLACE}@backoff.on_exception(backoff.expo, OSError, giveup=place)\n"
        "def work(): pass",
        "work()",
    ),
    "a key": (
        f"from cachetools import cached\n{PLACE}@cached({{}}, key=place)\ndef work(): pass",
        "work()",
    ),
}
PYTHON = {**DECORATING, **COLLECTED, **REGISTERED, **RETURNED, **FIELDS, **IMPLIED}


def contexts(root, files):
    """Return the contexts of the calls of ``place`` and of ``idle``, by the rows of ``app.py``."""
    files = {"Procfile": "web: gunicorn -k gevent app:app\n", **files}
    files |= unrelated({name: text for name, text in files.items() if name.endswith(".py")})
    idle = files["app.py"][: files["app.py"].index("def idle")].count("\n") + 2  # `import os`
    found = [one for one in reported(root, files) if one.symbol]
    return [
        [one.context for one in found if (one.location.row == idle) == n] for n in (False, True)
    ]


@pytest.mark.parametrize("context", USES)
@pytest.mark.parametrize("form", PYTHON.values(), ids=PYTHON)
def test_a_form_of_python_leads_to_a_function(tmp_path, form, context):
    defined, used = form
    use = USES[context].format(used.replace("\n", "\n    "))
    reached, idle = contexts(tmp_path, {"app.py": f"{FLASK}{KEY}{defined}\n{IDLE}{use}"})
    # What a class of a package is given may run elsewhere, too.
    assert reached in ([context], ["unknown"] if context == "command" else [])
    assert ["unknown"] == idle


UNUSED = {
    "an attribute that the class has": (SHOP.format("__getattr__"), "shop.found"),
    "an item of something else": (SHOP.format("__getitem__"), "request.args[shop]"),
    "in something else": (SHOP.format("__contains__"), "return shop in [1]"),
    "an attribute of the same name": (
        "class Shop:\n    def get(self): return CALL\n    stock = property(get)\nshop = Shop()\n"
        "class Bag:\n    stock = 1\nbag = Bag()",
        "bag",
    ),
    "a name of a function": (
        f"from werkzeug.local import LocalProxy\n{PLACE}user = LocalProxy(place)",
        "user = 1\nreturn user",
    ),
}


@pytest.mark.parametrize("form", UNUSED.values(), ids=UNUSED)
def test_what_looks_like_a_use_and_is_none(tmp_path, form):
    defined, used = form
    use = USES["request"].format(used.replace("\n", "\n    "))
    reached, _ = contexts(tmp_path, {"app.py": f"{FLASK}{KEY}{defined}\n{IDLE}{use}"})
    assert "request" not in reached


SITE = "class Site:\n    def __init__(self, app): self.app = app\n"
SITE += "    def add(self, url, f): self.app.add_url_rule(url, view_func=f)\nsite = Site(app)\n"
HANDED_ON = {
    "an element of *args": "def add(*args): app.route('/x')(args[0])\nadd(place)",
    "a function": "def add(f): app.add_url_rule('/x', view_func=f)\nadd(place)",
    "a function that decorates": "def add(f): app.route('/x')(f)\nadd(place)",
    "by keyword": "def add(url, f=None): app.add_url_rule(url, view_func=f)\nadd('/', f=place)",
    "a function that wraps": f"{WRAP}def add(f): app.route('/x')(wrap(f))\nadd(place)",
    "a method": f"{SITE}site.add('/x', place)",
    "two functions": "def add(f): app.route('/x')(f)\ndef more(f): add(f)\nmore(place)",
    "a decorator that is called": (
        "def on(url):\n    def add(f): return app.route(url)(f)\n    return add\non('/x')(place)"
    ),
}


@pytest.mark.parametrize("form", HANDED_ON.values(), ids=HANDED_ON)
def test_a_function_of_the_project_hands_on_what_a_framework_runs(tmp_path, form):
    text = f"{FLASK}{PLACE}{form}\n{IDLE}"
    assert [["request"], ["unknown"]] == contexts(tmp_path, {"app.py": text})


@pytest.mark.parametrize("form", HANDED_ON.values(), ids=HANDED_ON)
def test_and_what_a_command_line_runs(tmp_path, form):
    import_, command = "import click\napp = click.Group()\n", "app.command('/x')"
    form = form.replace("app.route(url)", command).replace("app.route('/x')", command)
    for url in ("url", "'/x'"):
        form = form.replace(f"app.add_url_rule({url}, view_func=f)", f"{command}(f)")
    text = f"{import_}{PLACE}{form}\n{IDLE}"
    assert [["command"], ["unknown"]] == contexts(tmp_path, {"app.py": text})


RUNNING = "def run(f, *args): {}\n"
BESIDE = {
    "a function that runs it": (RUNNING.format("return f(*args)"), "run, place"),
    "in a try": (RUNNING.format("\n    try: f(*args)\n    except OSError: pass"), "run, place, 1"),
    "a lambda in it": (RUNNING.format("(lambda: f(*args))()"), "run, place"),
    "out of *args": ("def run(*args): args[0](*args[1:])", "run, place"),
    "a method": ("class R:\n    def run(self, f): f()\n", "R().run, place"),
    "a function that passes it on": (
        RUNNING.format("return f(*args)") + "def safely(*args): run(*args)\n",
        "safely, place, 1",
    ),
    "one that passes its own parameter on": (
        RUNNING.format("return f(*args)") + "def safely(g): run(g, 1)\n",
        "safely, place",
    ),
}
SPAWNS = ("gevent.spawn(", "Pool(2).spawn(", "gevent.spawn_later(3, ", "Group().apply_async(")


@pytest.mark.parametrize("form", BESIDE.values(), ids=BESIDE)
def test_what_a_greenlet_runs_runs_what_it_is_given(tmp_path, form):
    defined, given = form
    text = f"import gevent, click\nfrom gevent.pool import Pool, Group\n{PLACE}{defined}\n{IDLE}"
    command = f"@click.command()\ndef main():\n    {{}}{given})\n"
    for number, spawn in enumerate(SPAWNS):
        files = {"app.py": text + command.format(spawn)}
        assert [["greenlet"], ["unknown"]] == contexts(tmp_path / f"{number}", files)
    idle = defined.replace("f(*args)", "str(f)").replace("args[0](*args[1:])", "str(args[0])")
    files = {"app.py": text.replace(defined, idle.replace("f()", "str(f)")) + command}
    files["app.py"] = files["app.py"].format("gevent.spawn(")
    reached, _ = contexts(tmp_path / "idle", files)
    assert "greenlet" not in reached


FILTERS = "FILTERS = {'x': place}\n"
ASSIGNED = {
    "an item": "app.jinja_env.filters['x'] = place",
    "a keyword of update": "app.jinja_env.globals.update(x=place)",
    "a dict that update takes": "app.jinja_env.globals.update({'x': place})",
    "a table that update takes": f"{FILTERS}app.jinja_env.filters.update(FILTERS)",
    "each of a table": f"{FILTERS}for n, f in FILTERS.items(): app.jinja_env.tests[n] = f",
    "an object under another name": "env = app.jinja_env\nenv.filters['x'] = place",
    "in a function": "def add(app):\n    app.jinja_env.filters['x'] = place\nadd(app)",
    "a list": "app.before_request_funcs.setdefault(None, []).append(place)",
    "a dict of lists": "app.before_request_funcs = {None: [place]}",
    "a view": "app.view_functions['x'] = place",
    "a view that is wrapped": f"{WRAP}app.view_functions['x'] = wrap(place)",
    "a call": "app.add_template_filter(place, 'x')",
}


@pytest.mark.parametrize("form", ASSIGNED.values(), ids=ASSIGNED)
def test_a_framework_runs_what_code_puts_into_its_containers(tmp_path, form):
    text = f"{FLASK}{PLACE}{form}\n{IDLE}"
    assert [["request"], ["unknown"]] == contexts(tmp_path, {"app.py": text})


@pytest.mark.parametrize("form", ASSIGNED.values(), ids=ASSIGNED)
def test_but_not_what_it_puts_into_others(tmp_path, form):
    own = "class Site:\n    view_functions = {}\n    before_request_funcs = {}\n"
    own += "    def add_template_filter(self, f, name): pass\napp = Site()\n"
    own += "class Env:\n    filters, globals, tests = {}, {}, {}\napp.jinja_env = Env()\n"
    found = contexts(tmp_path, {"app.py": f"import flask\n{own}{PLACE}{form}\n{IDLE}"})
    assert "request" not in found[0] + found[1]


DJANGO = {
    "Procfile": "web: gunicorn -k gevent shop.wsgi:application\n",
    "requirements.txt": "django\ngevent\ngunicorn\n",
    "shop/__init__.py": "",
    "shop/settings.py": "ROOT_URLCONF = 'shop.urls'\nINSTALLED_APPS = ['shop']\n",
    "shop/wsgi.py": "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
    "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()\n",
    "shop/urls.py": "from django.urls import path\nfrom shop import models, views\n"
    "urlpatterns = [path('', views.index)]\n",
    "shop/views.py": "def index(request): pass\n",
    "shop/models.py": "",
}
COMMAND = "shop/management/commands/fill.py"
MODEL = """from django.db import models
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
class Manager(models.Manager):
    def get_queryset(self):
        CALL  # get_queryset
        return super().get_queryset()
class UserManager(BaseUserManager):
    def create_user(self, email, **given): CALL  # create_user
class User(AbstractBaseUser):
    objects = UserManager()
class Order(models.Model):
    objects = Manager()
    def save(self, *args, **given):
        CALL  # save
        super().save(*args, **given)
"""
ORDER = "from shop.models import Order\n"
USER = "from django.contrib.auth import get_user_model\n"
DONE = {
    "create": ("save", f"{ORDER}Order.objects.create(id=1)"),
    "get_or_create": ("save", f"{ORDER}Order.objects.get_or_create(id=1)"),
    "an object of a query": ("save", f"{ORDER}for one in Order.objects.filter(id=1): one.save()"),
    "a user": ("create_user", f"{USER}get_user_model().objects.create_user(**{{'email': 'x'}})"),
    "a query": ("get_queryset", f"{ORDER}Order.objects.filter(id=1)"),
}


def of_django(root, files, row):
    """Return the contexts of the calls of a project of Django whose line ends with a word."""
    files = {**DJANGO, **files}
    files["shop/settings.py"] = DJANGO["shop/settings.py"] + files.get("settings", "")
    files.pop("settings", None)
    lines = {
        name: ["", *text.replace("CALL", "os.system('sync')").split("\n")]
        for name, text in files.items()
    }
    return [
        one.context
        for one in reported(root, files)
        if one.symbol
        and lines[one.filename.removeprefix(f"{root}/")][one.location.row - 1].endswith(f"# {row}")
    ]


@pytest.mark.parametrize("form", DONE.values(), ids=DONE)
def test_what_django_runs_has_the_context_of_the_call(tmp_path, form):
    row, written = form
    body = "\n    ".join(written.split("\n"))
    files = {"shop/models.py": MODEL, "settings": "AUTH_USER_MODEL = 'shop.User'\n"}
    view = {"shop/views.py": f"def index(request):\n    {body}\n"}
    assert ["request"] == of_django(tmp_path / "served", {**files, **view}, row)
    command = "from django.core.management.base import BaseCommand\nclass Command(BaseCommand):\n"
    command += "    def handle(self, **options):\n        " + body.replace("\n", "\n    ") + "\n"
    assert ["command"] == of_django(tmp_path / "command", {**files, COMMAND: command}, row)


SAVING = {
    "the admin": (
        "shop/admin.py",
        "from django.contrib import admin\nadmin.site.register(Order)",
    ),
    "a class of the admin": (
        "shop/admin.py",
        "from django.contrib import admin\n@admin.register(Order)\n"
        "class Orders(admin.ModelAdmin): pass",
    ),
    "a form": (
        "shop/forms.py",
        "from django import forms\nclass Form(forms.ModelForm):\n    class Meta:\n"
        "        model = Order",
    ),
    "a serializer": (
        "shop/serializers.py",
        "from rest_framework import serializers\n"
        "class Orders(serializers.ModelSerializer):\n    class Meta:\n        model = Order",
    ),
    "a view": (
        "shop/views.py",
        "from django.views.generic import CreateView\nclass New(CreateView):\n    model = Order\n"
        "def index(request): pass",
    ),
}


@pytest.mark.parametrize("form", SAVING.values(), ids=SAVING)
def test_django_saves_the_objects_of_a_model(tmp_path, form):
    name, text = form
    files = {"shop/models.py": MODEL, name: f"{ORDER}{text}\n"}
    assert ["request"] == of_django(tmp_path, files, "save")


def test_a_model_that_only_lists_show_is_not_saved(tmp_path):
    text = "from django.views.generic import ListView\nclass All(ListView):\n    model = Order\n"
    files = {"shop/models.py": MODEL, "shop/views.py": f"{ORDER}{text}def index(request): pass\n"}
    assert ["unknown"] == of_django(tmp_path, files, "save")


MIDDLEWARE = """
def factory(get_response):
    CALL  # making
    def middleware(request):
        CALL  # running
        return get_response(request)
    return middleware
class Audit:
    def __init__(self, get_response):
        CALL  # making
        self.get_response = get_response
    def __call__(self, request):
        CALL  # running
        return self.get_response(request)
    def process_view(self, request, view, args, kwargs):
        CALL  # running
"""


def test_a_middleware_is_made_at_startup_and_runs_for_each_request(tmp_path):
    settings = "MIDDLEWARE = ['shop.middleware.factory', 'shop.middleware.Audit']\n"
    files = {"shop/middleware.py": MIDDLEWARE, "settings": settings}
    assert ["startup", "startup"] == of_django(tmp_path, files, "making")
    assert ["request", "request", "request"] == of_django(tmp_path, files, "running")


OVERRIDDEN = {
    "a session": ("requests.Session", "request", "get('http://shop')"),
    "a pool": ("psycopg2.pool.ThreadedConnectionPool", "_connect", "getconn()"),
}


@pytest.mark.parametrize("context", USES)
@pytest.mark.parametrize("form", OVERRIDDEN.values(), ids=OVERRIDDEN)
def test_a_method_of_a_package_runs_the_one_that_overrides_another(tmp_path, form, context):
    base, method, used = form
    text = f"import {base.rpartition('.')[0]}\n{FLASK}class Own({base}):\n"
    text += f"    def {method}(self, *args):\n        CALL  # own\n"
    text += f"        return super().{method}(*args)\n    def idle(self): CALL\nown = Own()\n"
    files = {"Procfile": "web: gunicorn -k gevent app:app\n"}
    files["app.py"] = text + USES[context].format(f"own.{used}")
    found = {one.location.row: one.context for one in reported(tmp_path, files)}
    rows = [row for row, line in enumerate(files["app.py"].split("\n"), 2) if "CALL" in line]
    assert [context, "unknown"] == [found[row] for row in rows]


FRAMEWORKS = {
    "a view of a dispatcher": (
        "request",
        "from werkzeug.middleware.dispatcher import DispatcherMiddleware\n"
        f"{PLACE}app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {{'/x': place}})",
    ),
    "a converter of paths": (
        "request",
        "from werkzeug.routing import BaseConverter\nclass Order(BaseConverter):\n"
        "    def to_python(self, value): return CALL",
    ),
    "a loader of templates": (
        "request",
        "class Own:\n    def get_source(self, environment, name): CALL\napp.jinja_loader = Own()",
    ),
    "an encoder": (
        "request",
        "import json\nclass Own(json.JSONEncoder):\n    def default(self, value): return CALL\n"
        "app.json_encoder = Own",
    ),
    "a field of a form": (
        "request",
        "from wtforms import Field\nclass Price(Field):\n"
        "    def process_formdata(self, values): CALL",
    ),
    "a field of Flask-RESTful": (
        "request",
        "from flask_restful import fields\nclass Price(fields.Raw):\n"
        "    def format(self, value): return CALL",
    ),
    "a tree of Pyramid": (
        "request",
        "from pyramid.config import Configurator\nclass Root:\n"
        "    def __init__(self, request): pass\n    def __getitem__(self, key): return CALL\n"
        "config = Configurator(root_factory=Root)",
    ),
    "a hook of pydantic": (
        "request",
        "from pydantic import BaseModel\nclass Order(BaseModel):\n    number: int\n"
        "    def model_post_init(self, context): CALL\n"
        "@app.route('/')\ndef index(): return Order(number=1)",
    ),
    "a callback of a threadpool": (
        "greenlet",
        f"import gevent\n{PLACE}def work(): pass\n@app.route('/')\ndef index():\n"
        "    gevent.get_hub().threadpool.apply_async(work, callback=place)",
    ),
    "what a threadpool runs": (
        "native-thread",
        f"import gevent\n{PLACE}def done(result): pass\n@app.route('/')\ndef index():\n"
        "    gevent.get_hub().threadpool.apply_async(place, callback=done)",
    ),
}


@pytest.mark.parametrize("form", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_what_a_framework_runs_has_its_context(tmp_path, form):
    context, text = form
    found = contexts(tmp_path, {"app.py": f"{FLASK}{text}\n{IDLE}"})
    assert [[context], ["unknown"]] == found


@pytest.mark.parametrize("form", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_and_without_the_framework_it_has_none(tmp_path, form):
    _, text = form
    own = "class Own: pass\nBaseConverter = Field = BaseModel = Configurator = dict\n"
    lines = [one for one in text.split("\n") if not one.startswith(("from ", "import ", "@app"))]
    text = "\n".join(lines).replace("fields.Raw", "Own").replace("json.JSONEncoder", "object")
    text = text.replace("gevent.get_hub().threadpool", "own")
    app = "class App: wsgi_app = None\napp = App()\nDispatcherMiddleware = max\nimport flask\n"
    found = contexts(tmp_path, {"app.py": f"{own}{app}{text}\n{IDLE}"})
    assert {"request", "greenlet", "native-thread"}.isdisjoint(found[0])


SHOPS = """
KEPT = []
class Base:
    def handle(self, name): return TAKEN
    @staticmethod
    def safely(run): return run()
class Shop(Base):
    def place(self): return CALL
class Other:
    def place(self): return 1
shops = {'a': Shop()}
"""
BY_NAME = {
    "called": ("getattr(self, name)()", "request"),
    "called by __getattribute__": ("self.__getattribute__(name)()", "request"),
    "given to a function": ("Base.safely(getattr(self, name))", "request"),
    "given by __getattribute__": ("Base.safely(self.__getattribute__(name))", "request"),
    "given under a name": ("[run := getattr(self, name), Base.safely(run)]", "request"),
    "spawned": ("gevent.spawn(getattr(self, name))", "greenlet"),
    "given to the threadpool": (
        "gevent.get_hub().threadpool.apply(getattr(self, name))",
        "native-thread",
    ),
    "given to a package": ("unknown.run(getattr(self, name))", "unknown"),
    "given to a function that keeps it": ("KEPT.append(getattr(self, name))", "unknown"),
    "of another object": ("getattr(Other(), name)()", "unknown"),
}


@pytest.mark.parametrize("form", BY_NAME.values(), ids=BY_NAME)
def test_a_method_is_taken_by_the_name_that_a_request_says(tmp_path, form):
    taken, context = form
    text = f"import gevent, unknown\n{FLASK}{KEY}{SHOPS.replace('TAKEN', taken)}{IDLE}"
    text += USES["request"].format("return shops[key()].handle(key())")
    assert [[context], ["unknown"]] == contexts(tmp_path, {"app.py": text})


HANDLERS = f"{PLACE}def _kept(): return CALL\n"
LOOKED_UP = {
    "a text of werkzeug": (
        "from werkzeug.utils import import_string\nPATHS = {'a': 'handlers.place'}",
        "import_string(PATHS[key()])()",
    ),
    "a text in a variable": (
        "from werkzeug.utils import import_string",
        "chosen = import_string('handlers:place')\nchosen()",
    ),
    "a text that a function of the project loads": (
        "from werkzeug.utils import import_string\nPATHS = {'a': 'handlers.place'}\n"
        "def load(path): return import_string(path)",
        "load(PATHS[key()])()",
    ),
    "a text of the standard library": (
        "import pkgutil\nPATHS = ['handlers:place']",
        "for one in PATHS: pkgutil.resolve_name(one)()",
    ),
    "vars()": ("import handlers", "vars(handlers)[key()]()"),
    "vars().get()": ("import handlers", "vars(handlers).get(key())()"),
    "globals()": ("from handlers import *", "globals()[key()]()"),
}


@pytest.mark.parametrize("context", USES)
@pytest.mark.parametrize("form", LOOKED_UP.values(), ids=LOOKED_UP)
def test_a_function_is_looked_up_by_a_text(tmp_path, form, context):
    imports, used = form
    use = USES[context].format(used.replace("\n", "\n    "))
    files = {"handlers.py": HANDLERS, "app.py": f"{FLASK}{KEY}{imports}\n{use}"}
    if imports.startswith("from handlers"):
        files = {"app.py": f"{FLASK}{KEY}{HANDLERS}{use}"}
    files |= unrelated(files)
    files["Procfile"] = "web: gunicorn -k gevent app:app\n"
    found = [one.context for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [context, "unknown"] == sorted(found, key="unknown".__eq__)


def test_a_function_that_runs_what_a_text_names_runs_it_for_who_gives_the_text(tmp_path):
    made = (
        "from werkzeug.utils import import_string\ndef make(path): return import_string(path)()\n"
    )
    body = f"{FLASK}from making import make\n{USES['request'].format('make(PLACE)')}"
    body += USES["command"].format("make(KEPT)").replace("index", "fill")
    files = {
        "Procfile": "web: gunicorn -k gevent app:app\n",
        "making.py": made,
        "app.py": body.replace("PLACE", "'handlers.place'").replace("KEPT", "'handlers._kept'"),
        "handlers.py": HANDLERS,
    }
    assert ["request", "command"] == [one.context for one in reported(tmp_path, files)]


PASSED_ON = {
    "called": ("def run(f):\n    go(f)\ndef go(f):\n    f(1)\n", "request"),
    "by a keyword": ("def run(f):\n    go(1, work=f)\ndef go(x, work):\n    work(x)\n", "request"),
    "by three": (
        "def run(f):\n    one(f)\ndef one(f):\n    two(f)\ndef two(g):\n    g(1)\n",
        "request",
    ),
    "in a circle": ("def run(f):\n    go(f)\ndef go(f):\n    run(f)\n    f(1)\n", "request"),
    "by a greenlet": (
        "import gevent\ndef run(f):\n    gevent.spawn(go, f).join()\ndef go(f):\n    f(1)\n",
        "greenlet",
    ),
    "by a greenlet's function": (
        "import gevent\ndef run(f):\n    gevent.spawn(go, f).join()\ndef go(f):\n    on(f)\n"
        "def on(f):\n    f(1)\n",
        "greenlet",
    ),
}


@pytest.mark.parametrize("title", PASSED_ON)
@pytest.mark.parametrize("started", [True, False])
def test_a_function_is_followed_through_those_that_pass_it_on(tmp_path, title, started):
    """Other callers of the functions in between give them something else to run."""
    text, context = PASSED_ON[title]
    files = {
        "consumer.py": text,
        "handlers.py": "def work(x): return CALL\n",
        "shop.py": "from flask import Flask\nfrom consumer import run\nfrom handlers import work\n"
        "app = Flask('shop')\n@app.get('/')\ndef place():\n    run(work)\n    return ''\n",
        "tool.py": "import click\nfrom consumer import run\n@click.command()\ndef tool():\n"
        "    run(print)\n",
        **({"Procfile": "web: gunicorn -k gevent shop:app\n"} if started else {}),
    }
    (one,) = reported(tmp_path, files, assume_gevent=True)
    assert context == one.context
