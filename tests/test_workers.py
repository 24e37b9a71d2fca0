"""The worker that runs a task, a receiver or a hook: by queue, application, pool and target.

A call is reported where a process on gevent runs it, and counted where another process alone does.
"""

from __future__ import annotations

import textwrap

import pytest
from test_contexts import reported

GREEN = {
    "celery": "celery -A jobs worker -P gevent",
    "dramatiq": "dramatiq-gevent jobs",
    "rq": "rq worker -w rq_gevent_worker.GeventWorker",
}
PLAIN = {"celery": "celery -A jobs worker", "dramatiq": "dramatiq jobs", "rq": "rq worker"}
HEADS = {
    "celery": "from celery import Celery, shared_task, Task\napp = Celery()\n",
    "dramatiq": "import dramatiq\n",
    "rq": "from rq import Queue\nfrom rq.decorators import job\n",
}
TASK, OTHER = "task", "other-process"
QUEUES = [
    ("celery", "-Q io", "-Q cpu", "QUEUE = 'cpu'\n@app.task(queue=QUEUE)", OTHER),
    ("celery", "-Q io", "-Q cpu", "@shared_task(queue='cpu')", OTHER),
    ("celery", "-Q io", "-Q cpu", "@shared_task(queue='io')", TASK),
    ("celery", "-X cpu", "-Q cpu", "@shared_task(queue='cpu')", OTHER),
    ("celery", "--exclude-queues=cpu,gpu", "-Q cpu", "@app.task(queue='gpu')", OTHER),
    ("celery", "-X cpu", "", "@app.task(queue='io')", TASK),
    ("celery", "-Qio", "-Q cpu", "@app.task(queue='cpu')", OTHER),
    ("celery", "-Q io", "-Q cpu", "app.conf.task_routes = [{'jobs.*': 'cpu'}]\n@app.task", OTHER),
    (
        "celery", "-Q io", "-Q cpu",
        "app.conf.task_routes = ([('jobs.*', {'queue': 'cpu'}), ('other.*', 'io')],)\n@app.task",
        OTHER,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "CPU = {'queue': 'cpu'}\nROUTES = {'jobs.place': CPU}\n"
        "app.conf.task_routes = ROUTES\n@app.task",
        OTHER,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "app.conf.task_routes = {'jobs.*': 'cpu', 'jobs.place': 'io'}\n@app.task", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "app.conf.task_annotations = {'jobs.place': {'queue': 'cpu'}}\n@app.task", OTHER,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "app.conf.task_annotations = {'jobs.place': {'rate_limit': '1/s'}}\n@app.task", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "app.conf.task_routes = {'shop.*': 'cpu'}\n@app.task(name='shop.place')", OTHER,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "app.conf.task_routes = {'jobs.*': 'cpu'}\n@app.task(name='shop.place')", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "def ask(): place.apply_async((1,), queue='io')\n@app.task(queue='cpu')", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "def ask(): place.s(1).set(queue='io')\n@app.task(queue='cpu')", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "def ask(): app.send_task('jobs.place', queue='io')\n@app.task(queue='cpu')", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "def ask(q): place.apply_async((1,), queue=q)\n@app.task(queue='cpu')", TASK,
    ),
    (
        "celery", "-Q io", "-Q cpu",
        "def ask(other): other.apply_async((1,), queue='io')\n@app.task(queue='cpu')", OTHER,
    ),
    ("dramatiq", "-Q default", "-Q heavy", "@dramatiq.actor(queue_name='heavy')", OTHER),
    ("dramatiq", "--queues default mail", "", "@dramatiq.actor(queue_name='mail')", TASK),
    ("dramatiq", "--queues default mail", "", "@dramatiq.actor(queue_name='heavy')", OTHER),
    ("dramatiq", "-Q heavy", "", "@dramatiq.actor", OTHER),
    ("dramatiq", "-Q heavy", "", "@dramatiq.actor(max_retries=3)", OTHER),
    ("dramatiq", "-Q default", "", "@dramatiq.actor", TASK),
    ("dramatiq", "", "-Q heavy", "@dramatiq.actor(queue_name='heavy')", TASK),
    ("dramatiq", "-Q io", "", "@dramatiq.actor(queue_name=chosen())", TASK),
    ("rq", "high", "low", "@job('low')", OTHER),
    ("rq", "high", "low", "@job(queue='low')", OTHER),
    ("rq", "high low", "low", "@job('low')", TASK),
    ("rq", "high", "low", "LOW = Queue('low')\n@job(LOW)", OTHER),
    ("rq", "high", "low", "@job(Queue('high'))", TASK),
    ("rq", "high", "low", "from queues import LOW\n@job(LOW)", OTHER),
    ("rq", "high", "low", "from elsewhere import LOW\n@job(LOW)", TASK),
    ("rq", "high", "low", "LOW = Queue('low')\nLOW = chosen()\n@job(LOW)", TASK),
    ("rq", "high", "low", "@job(Queue(*given))", TASK),
    ("rq", "high", "", "@job('default')", OTHER),
    ("rq", "", "low", "@job('low')", OTHER),
    ("rq", "--url redis://r high", "low", "@job('redis://r')", OTHER),
    ("rq", "high", "low", "@job(chosen())", TASK),
    ("rq", "high", "low", "def ask(): Queue('low').enqueue(place)\n", OTHER),
    ("rq", "high", "low", "q = Queue('low')\ndef ask(): q.enqueue(place)\n", OTHER),
    ("rq", "high", "low", "q = Queue(name='high')\ndef ask(): q.enqueue(place)\n", TASK),
    ("rq", "high", "", "q = Queue()\ndef ask(): q.enqueue(place)\n", OTHER),
    ("rq", "high", "low", "def ask(q): q.enqueue(place)\n", TASK),
]  # fmt: skip


@pytest.mark.parametrize(("framework", "green", "plain", "text", "context"), QUEUES)
def test_a_task_runs_in_the_workers_of_its_queue(tmp_path, framework, green, plain, text, context):
    files = {
        "Procfile": f"a: {GREEN[framework]} {green}\nb: {PLAIN[framework]} {plain}\n",
        "jobs.py": f"{HEADS[framework]}{text}\ndef place(*given): CALL\n",
        "queues.py": f"{HEADS[framework]}LOW = Queue('low')\n" if framework == "rq" else "",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


def test_the_class_of_a_task_names_its_queue(tmp_path):
    files = {
        "Procfile": "a: dramatiq-gevent jobs -Q default\nb: dramatiq jobs -Q heavy\n",
        "jobs.py": "import dramatiq\nclass Place(dramatiq.GenericActor):\n    class Meta:\n"
        "        queue_name = 'heavy'\n    def perform(self): CALL\n",
    }
    assert [OTHER] == [one.context for one in reported(tmp_path, files)]


HUEY = "from huey import RedisHuey\n"
APPLICATIONS = [
    ("huey_consumer.py render.huey -k process", "import mail, render", OTHER),
    ("huey_consumer.py -k process -w 4 render.huey", "import mail, render", OTHER),
    ("python -m huey.bin.huey_consumer render.huey", "import mail, render", OTHER),
    ("huey_consumer.py run.huey", "from render import huey", OTHER),
    ("huey_consumer.py render.huey -k greenlet", "import mail, render", TASK),
    ("huey_consumer.py mail.huey", "import mail, render", TASK),
]


@pytest.mark.parametrize(("command", "imports", "context"), APPLICATIONS)
def test_a_consumer_runs_the_tasks_of_one_application(tmp_path, command, imports, context):
    files = {
        "Procfile": f"a: huey_consumer.py mail.huey -k greenlet\nb: {command}\n",
        "run.py": imports,
        "mail.py": f"{HUEY}import render\nhuey = RedisHuey('mail')\n"
        "@huey.task()\ndef send(): render.letter(1)\n",
        "render.py": f"{HUEY}huey = RedisHuey('render')\n@huey.task()\ndef letter(text): CALL\n",
    }
    expected = context if "render.huey" in command or "run.huey" in command else TASK
    found = [one for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [expected] == [one.context for one in found]


SERVED = "web: gunicorn -k gevent shop:app\n"
UNKNOWN_WORKERS = [
    ("celery", {"Procfile": SERVED}, OTHER),
    ("rq", {"Procfile": SERVED}, OTHER),
    ("dramatiq", {"Procfile": SERVED}, OTHER),
    ("celery", {"Procfile": "web: gunicorn -k gevent $APP\n"}, OTHER),
    ("celery", {"Procfile": ""}, TASK),
    (
        "celery",
        {
            "wsgi.py": "from gevent import monkey; monkey.patch_all()\n"
            "from django.core.wsgi import get_wsgi_application\nimport shop\n"
            "application = get_wsgi_application()\n"
        },
        OTHER,
    ),
    (
        "celery",
        {"run.py": "from gevent import monkey; monkey.patch_all()\nimport shop\nshop.serve()\n"},
        TASK,
    ),
    ("celery", {"Procfile": SERVED, "ops/values.yaml": "args: [-P, gevent]\n"}, TASK),
    ("celery", {"Procfile": SERVED, "ops/values.yaml": "pool: gevent\n"}, TASK),
    ("celery", {"Procfile": SERVED, "ops/values.yaml": "class: gevent\n"}, OTHER),
    ("celery", {"Procfile": SERVED, "conf.py": "# celery\nworker_pool = 'gevent'\n"}, TASK),
    ("celery", {"Procfile": SERVED, "run.py": "import celery, gevent\n"}, TASK),
    ("rq", {"Procfile": SERVED, "run.py": "from rq import gevent_worker\n"}, TASK),
    ("dramatiq", {"Procfile": SERVED, "ops/values.yaml": "run: dramatiq-gevent jobs\n"}, TASK),
]
DEFINED = {
    "celery": "@app.task\ndef place(): CALL\n",
    "rq": "@job('io')\ndef place(): CALL\n",
    "dramatiq": "@dramatiq.actor\ndef place(): CALL\n",
}


@pytest.mark.parametrize(("framework", "deployed", "context"), UNKNOWN_WORKERS)
def test_workers_that_nothing_starts_are_the_default_ones(tmp_path, framework, deployed, context):
    files = {
        "shop.py": "from flask import Flask\nimport jobs\napp = Flask('shop')\n",
        "jobs.py": HEADS[framework] + DEFINED[framework],
        **deployed,
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


POOLS = [
    ("worker_process_init", "-P gevent", OTHER),
    ("worker_process_init", "-P prefork", OTHER),
    ("worker_process_init", "-P $POOL", "startup"),
    ("worker_process_shutdown", "-P gevent", OTHER),
    ("worker_init", "-P gevent", "startup"),
    ("worker_ready", "-P gevent", "startup"),
    ("worker_shutdown", "-P gevent", "shutdown"),
    ("beat_init", "-P gevent", OTHER),
    ("eventlet_pool_started", "-P gevent", OTHER),
    ("task_prerun", "-P gevent", TASK),
]


@pytest.mark.parametrize("connected", ["@signals.{}.connect\n", "", "@{}.connect(weak=False)\n"])
@pytest.mark.parametrize(("signal", "pool", "context"), POOLS)
def test_a_pool_sends_some_signals_and_not_others(tmp_path, signal, pool, context, connected):
    after = "" if connected else f"signals.{signal}.connect(begin)\n"
    files = {
        "Procfile": f"a: celery -A jobs worker {pool}\nb: celery -A jobs beat\n",
        "jobs.py": "from celery import Celery, signals\n"
        f"from celery.signals import {signal}\napp = Celery()\n"
        f"{connected.format(signal)}def begin(**given): CALL\n{after}",
    }
    assert [context] == [one.context for one in reported(tmp_path, files)]


RECIPES = [
    ("@worker_process_init.connect\ndef green(**kw): patch_psycopg()\n", False),
    ("def green(**kw): patch_psycopg()\nworker_process_init.connect(green)\n", False),
    (
        "def green(): patch_psycopg()\n@worker_process_init.connect\ndef begin(**kw): green()\n",
        False,
    ),
    ("@worker_init.connect\ndef green(**kw): patch_psycopg()\n", True),
    (
        "def green(): patch_psycopg()\n@worker_process_init.connect\ndef begin(**kw): green()\n"
        "@worker_init.connect\ndef also(**kw): green()\n",
        True,
    ),
    (
        "@worker_process_init.connect\n@worker_init.connect\ndef green(**kw): patch_psycopg()\n",
        True,
    ),
    ("def green(): patch_psycopg()\ngreen()\n", True),
]


@pytest.mark.parametrize(("recipe", "runs"), RECIPES)
def test_a_recipe_counts_in_the_processes_that_run_it(tmp_path, recipe, runs):
    files = {
        "Procfile": "a: celery -A jobs worker -P gevent\n",
        "jobs.py": "import psycopg2\nfrom celery import Celery\n"
        "from celery.signals import worker_init, worker_process_init\n"
        "from psycogreen.gevent import patch_psycopg\napp = Celery()\n"
        f"{recipe}\n@app.task\ndef place(): psycopg2.connect('x')\n",
    }
    symbols = [one.symbol for one in reported(tmp_path, files)]
    assert runs == ("psycopg2.connect" not in symbols)


UWSGI = [
    ("@uwsgidecorators.spool\ndef place(args): CALL\n", OTHER),
    ("@uwsgidecorators.spool(pass_arguments=True)\ndef place(args): CALL\n", OTHER),
    ("@uwsgidecorators.spoolforever\ndef place(args): CALL\n", OTHER),
    ("@uwsgidecorators.spoolraw\ndef place(args): CALL\n", OTHER),
    ("from uwsgidecorators import mulefunc as later\n@later\ndef place(args): CALL\n", OTHER),
    ("@uwsgidecorators.mulefunc(2)\ndef place(args): CALL\n", OTHER),
    ("@uwsgidecorators.mule(1)\ndef place(): CALL\n", OTHER),
    ("@uwsgidecorators.farm('f')\ndef place(message): CALL\n", OTHER),
    ("@uwsgidecorators.timer(3)\ndef place(number): CALL\n", "task"),
    ("@uwsgidecorators.timer(3, target='mule1')\ndef place(number): CALL\n", OTHER),
    ("@uwsgidecorators.timer(3, target='workers')\ndef place(number): CALL\n", "task"),
    ("@uwsgidecorators.rbtimer(3, target='spooler')\ndef place(number): CALL\n", OTHER),
    ("W = 'mules'\n@uwsgidecorators.cron(0, 0, -1, -1, -1, target=W)\ndef f(n): CALL\n", OTHER),
    ("@uwsgidecorators.filemon('/tmp')\ndef place(number): CALL\n", "task"),
    ("@uwsgidecorators.signal(7, target='farm_x')\ndef place(number): CALL\n", OTHER),
    ("@uwsgidecorators.rpc('place')\ndef place(number): CALL\n", "request"),
    ("@uwsgidecorators.postfork\ndef place(): CALL\n", "startup"),
    ("@uwsgidecorators.thread\ndef place(): CALL\n", "greenlet"),
    ("def place(number): CALL\nuwsgi.register_signal(1, 'workers', place)\n", "task"),
    ("def place(number): CALL\nuwsgi.register_signal(1, 'mule', place)\n", OTHER),
    ("def place(env): CALL\nuwsgi.spooler = place\n", OTHER),
    ("def place(): CALL\nuwsgi.atexit = place\n", "shutdown"),
    ("def place(name): CALL\nuwsgi.register_rpc('place', place)\n", "request"),
]


@pytest.mark.parametrize(("text", "context"), UWSGI)
def test_uwsgi_runs_a_function_in_a_worker_or_beside_it(tmp_path, text, context):
    files = {
        "uwsgi.ini": "[uwsgi]\nmodule = app\ngevent = 10\ngevent-monkey-patch = true\n",
        "app.py": f"import uwsgi, uwsgidecorators\n\n{text}\n"
        "def application(environ, start_response): pass\n",
    }
    found = [one for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [context] == [one.context for one in found]


def test_a_call_of_what_is_sent_runs_it_elsewhere(tmp_path):
    files = {
        "uwsgi.ini": "[uwsgi]\nmodule = app\ngevent = 10\ngevent-monkey-patch = true\n",
        "app.py": "import uwsgidecorators\n\n@uwsgidecorators.mulefunc\ndef place(): CALL\n\n"
        "def direct(): CALL\n\n"
        "def application(environ, start_response):\n    place()\n    direct()\n",
    }
    found = [one.context for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [OTHER, "request"] == found


SENT = {
    "its signature": "def start(task):\n    return task.s(1)\n",
    "its immutable signature": "def start(task):\n    return task.si(1)\n",
    "a signature with options": "def start(task):\n"
    "    return task.signature((1,)).set(queue='low')\n",
    "delay": "def start(task):\n    task.delay(1)\n",
    "apply_async": "def start(task):\n    task.apply_async((1,), countdown=2)\n",
    "its name": "def start(task):\n    app.send_task(task.name)\n",
    "through another function": "def send(job):\n    job.delay()\n\n"
    "def start(task):\n    send(task)\n",
    "an object that keeps it": "class Sender:\n    def __init__(self, task):\n"
    "        self.task = task\n\n    def send(self):\n        self.task.delay()\n\n"
    "def start(task):\n    Sender(task).send()\n",
    "code from elsewhere": "from elsewhere import send\n\ndef start(task):\n    send(task)\n",
    "nothing": "def start(task):\n    print(task.name)\n",
}
"""Functions that are given a task and do not run it."""
CALLED = {
    "a call": "def start(task):\n    task(1)\n",
    "run": "def start(task):\n    task.run(1)\n",
    "apply": "def start(task):\n    task.apply((1,))\n",
    "__call__": "def start(task):\n    task.__call__(1)\n",
    "through another function": "def go(job):\n    job()\n\ndef start(task):\n    go(task)\n",
    "an object that keeps it": "class Runner:\n    def __init__(self, task):\n"
    "        self.task = task\n\n    def go(self):\n        self.task.run()\n\n"
    "def start(task):\n    Runner(task).go()\n",
    "a greenlet": "import gevent\n\ndef start(task):\n    gevent.spawn(task, 1)\n",
}
"""Functions that run the task that they are given in their own process."""
GIVEN = {
    "an argument": "start(place)",
    "a keyword": "start(task=place)",
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize(
    ("form", "is_run"),
    [*((one, False) for one in SENT), *((one, True) for one in CALLED)],
)
def test_a_task_that_is_passed_on_runs_where_it_is_called(tmp_path, form, is_run, given):
    files = {
        "Procfile": "web: gunicorn -k gevent app:application\nworker: celery -A jobs worker\n",
        "jobs.py": "from celery import Celery\napp = Celery()\n\n"
        "@app.task\ndef place(): CALL\n\n@app.task\ndef other(): pass\n",
        "sending.py": "from jobs import app\n" + (CALLED if is_run else SENT)[form],
        "app.py": "from jobs import place, other\nfrom sending import start\n\n"
        f"def application(environ, start_response):\n    {GIVEN[given]}\n",
    }
    found = [one.context for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [is_run] == [one != OTHER for one in found]


@pytest.mark.parametrize(
    ("call", "is_run"),
    [
        ("place()", True), ("place.run()", True), ("place.apply()", True),
        ("place.__call__()", True), ("place.delay()", False), ("place.s()", False),
    ],
)  # fmt: skip
def test_a_task_runs_where_one_of_four_calls_names_it(tmp_path, call, is_run):
    files = {
        "Procfile": "web: gunicorn -k gevent app:application\nworker: celery -A jobs worker\n",
        "jobs.py": "from celery import Celery\napp = Celery()\n\n@app.task\ndef place(): CALL\n",
        "app.py": f"import jobs\nfrom jobs import place\n\n"
        f"def application(environ, start_response):\n    {call}\n",
    }
    found = [one.context for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [is_run] == [one != OTHER for one in found]


@pytest.mark.parametrize(
    ("made", "call", "is_run"),
    [
        ("@dramatiq.actor", "place.fn()", True),
        ("@dramatiq.actor", "place.send()", False),
        ("@queue.task()", "place.call_local()", True),
        ("@queue.task()", "place()", False),
        ("@queue.periodic_task(crontab())", "place.call_local()", True),
    ],
)
def test_a_task_that_a_call_sends_runs_where_its_function_is_called(tmp_path, made, call, is_run):
    files = {
        "Procfile": "web: gunicorn -k gevent app:application\n"
        "worker: dramatiq jobs\nother: huey_consumer jobs.queue\n",
        "jobs.py": "import dramatiq\nfrom huey import RedisHuey, crontab\nqueue = RedisHuey()\n\n"
        f"{made}\ndef place(): CALL\n",
        "app.py": "from jobs import place\n\n"
        f"def application(environ, start_response):\n    {call}\n",
    }
    found = [one.context for one in reported(tmp_path, files) if one.symbol == "os.system"]
    assert [is_run] == [one != OTHER for one in found]


EVENTS = {
    "init": "startup",
    "init_command_line_parser": "startup",
    "test_start": "startup",
    "test_stop": "shutdown",
    "quitting": "shutdown",
    "quit": "shutdown",
    "request": "greenlet",
    "request_success": "greenlet",
    "user_error": "greenlet",
    "spawning_complete": "greenlet",
    "test_stopping": "greenlet",
    "usage_monitor": "greenlet",
    "an_event_of_a_plug_in": "greenlet",
}


@pytest.mark.parametrize(
    "text",
    [
        "from locust import events\n@events.{}.add_listener\ndef listen(**given): CALL\n",
        "from locust import events\ndef listen(**given): CALL\nevents.{}.add_listener(listen)\n",
        "import locust\n@locust.events.{}.add_listener\ndef listen(**given): CALL\n",
    ],
)
@pytest.mark.parametrize("event", EVENTS)
def test_locust_fires_some_events_while_no_user_runs(tmp_path, event, text):
    found = reported(tmp_path, {"locustfile.py": text.format(event)})
    assert [EVENTS[event]] == [one.context for one in found]


EXPORTER = """
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    def {hook}({given}):
        BatchSpanProcessor(OTLPSpanExporter("otel:4317"))
    """


@pytest.mark.parametrize(
    ("hook", "given", "severity"),
    [
        ("post_worker_init", "worker", "warning"),
        ("post_fork", "server, worker", "note"),
        ("when_ready", "server", "note"),
        ("on_starting", "server", "note"),
    ],
)
def test_a_thread_that_a_hook_starts_is_a_greenlet_after_the_patch(tmp_path, hook, given, severity):
    files = {
        "Procfile": "web: gunicorn -c gunicorn.conf.py app:app\n",
        "gunicorn.conf.py": "worker_class = 'gevent'\n"
        + textwrap.dedent(EXPORTER.format(hook=hook, given=given)),
        "app.py": "def app(environ, start_response): pass\n",
    }
    found = [one for one in reported(tmp_path, files) if "OTLP" in (one.symbol or "")]
    assert [severity] == [one.severity.name.lower() for one in found]


@pytest.mark.parametrize(
    ("worker", "task", "context"),
    [
        ("python manage.py rqworker default", "django_rq.enqueue(place)", OTHER),
        ("python manage.py rqworker --with-scheduler", "django_rq.enqueue(place)", OTHER),
        ("python manage.py rqworker-pool", "django_rq.get_queue('low').enqueue(place)", OTHER),
        ("python manage.py rqworker high", "place()", "request"),
        ("python manage.py migrate", "django_rq.enqueue(place)", OTHER),
    ],
)
def test_workers_that_a_management_command_starts_run_tasks(tmp_path, worker, task, context):
    files = {
        "Procfile": f"web: gunicorn -k gevent shop.wsgi\nworker: {worker}\n",
        "manage.py": "from django.core.management import execute_from_command_line\n"
        "if __name__ == '__main__':\n"
        "    os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
        "    execute_from_command_line()\n",
        "shop/__init__.py": "",
        "shop/settings.py": "ROOT_URLCONF = 'shop.urls'\n",
        "shop/wsgi.py": "from django.core.wsgi import get_wsgi_application\n"
        "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
        "application = get_wsgi_application()\n",
        "shop/urls.py": "from django.urls import path\nfrom shop import views\n"
        "urlpatterns = [path('order', views.order)]\n",
        "shop/views.py": "import django_rq\nfrom shop.jobs import place\n"
        f"def order(request): {task}\n",
        "shop/jobs.py": "def place(): CALL\n",
    }
    (found,) = reported(tmp_path, files)
    assert found.context == context
