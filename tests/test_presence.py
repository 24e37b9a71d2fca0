"""Projects without gevent, projects whose server is not found, and what is declared."""

from __future__ import annotations

import json

import pytest

from gblock.cli import main

CALL = "import os\ndef view(request):\n    return os.system('sync')\n"
LINE = "nothing here runs on gevent:"
UNKNOWN = "no process is known to run on gevent"


@pytest.fixture
def run(tree, capsys):
    """Check a project: ``run({"app.py": …})`` returns exit code, reported files, and stderr."""

    def of(files, *options):
        tree(files)
        code = main(["check", "--output-format", "json", "--jobs", "1", *options])
        captured = capsys.readouterr()
        names = [one["filename"] for one in json.loads(captured.out)]
        return code, names, captured.err

    return of


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": "[project]\nname = 'shop'\n"},
        {"requirements.txt": "flask\nredis\n"},
        {"Procfile": "web: gunicorn --worker-class gthread app:app\n"},
        {"setup.py": "", "other.py": "# gevent would help\nx = 'gevent' in sys.modules\n"},
        {"setup.py": "", "test_app.py": "import gevent\n"},
        {"gblock.toml": ""},
    ],
)
def test_a_project_without_gevent_gets_one_line(run, files):
    code, names, err = run({"app.py": CALL, **files})

    assert (0, []) == (code, names)
    assert 1 == err.count(LINE)
    assert "1 in processes without gevent" in err

    assert (1, ["app.py"]) == run({}, "--assume-gevent")[:2]
    assert (1, ["app.py"]) == run({}, "--all-processes")[:2]


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "flask\ngevent==24.2\n"},
        {"pyproject.toml": "[project]\ndependencies = ['gunicorn[gevent]']\n"},
        {"setup.py": "", "other.py": "def f():\n    import gevent\n"},
        {"setup.py": "", "other.py": "from geventwebsocket.handler import WebSocketHandler\n"},
        {"setup.py": "", "settings.py": "KIND = 'geventwebsocket.gunicorn.workers.Worker'\n"},
        {"setup.py": "", "values.yaml": "gunicorn:\n  command: x\n  worker: gevent\n"},
    ],
)
def test_a_project_whose_server_is_not_found_gets_diagnostics_and_a_line(run, files):
    code, names, err = run({"app.py": CALL, **files})

    assert (1, ["app.py"]) == (code, names)
    assert 1 == err.count(UNKNOWN)
    assert LINE not in err


def test_a_loose_file_is_judged_as_if_it_ran_on_gevent(run):
    code, names, err = run({"app.py": CALL}, "app.py")

    assert (1, ["app.py"]) == (code, names)
    assert LINE not in err
    assert UNKNOWN not in err


def test_a_clean_project_without_gevent_is_clean(run):
    assert (0, []) == run({"setup.py": "", "app.py": "x = 1\n"})[:2]


DECLARED = {
    "pyproject.toml": '[tool.gblock]\nprocesses = [\n    "gunicorn -k gevent shop:app",\n]\n',
    "shop.py": "import views\n",
    "views.py": CALL,
    "batch.py": CALL + "if __name__ == '__main__':\n    view(None)\n",
}


def test_a_declared_process_is_one(run, capsys):
    code, names, err = run(DECLARED, "--all-contexts")

    assert (1, ["views.py"]) == (code, names)
    assert LINE not in err
    assert UNKNOWN not in err

    assert 0 == main(["processes", "--output-format", "json"])
    first = json.loads(capsys.readouterr().out)[0]
    assert ("gunicorn shop:app", "yes") == (first["process"], first["runs_on_gevent"])
    assert [("pyproject.toml", 3)] == [(e["filename"], e["row"]) for e in first["evidence"]]
    assert ["shop.py", "views.py"] == first["modules"]


def test_a_declared_process_without_gevent_hides_what_it_runs(run):
    files = {
        **DECLARED,
        "gblock.toml": 'processes = ["gunicorn -k gthread shop:app"]\n',
        "requirements.txt": "gevent\n",
    }
    _, names, err = run(files)

    assert "views.py" not in names
    assert "in processes without gevent" in err


def test_a_declared_process_that_starts_nothing_is_noted(run, capsys):
    files = {"gblock.toml": 'processes = ["frobnicate --fast"]\n', "app.py": CALL}
    files["requirements.txt"] = "gevent\n"

    assert "processes: `frobnicate --fast` starts nothing that gblock knows" in run(files)[2]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('["gunicorn \'app"]', "a quote in"),
        ('[" "]', "expected a command"),
        ('"gunicorn app"', "expected a list of strings"),
    ],
)
def test_a_broken_declaration_is_an_error(run, tree, capsys, written, message):
    tree({"gblock.toml": f"processes = {written}\n", "app.py": CALL})

    assert 2 == main(["check"])
    assert message in capsys.readouterr().err


def test_code_of_a_deployed_process_without_gevent_is_not_reported_whatever_is_unknown(run):
    files = {
        "requirements.txt": "gevent\n",
        "Procfile": "web: gunicorn sync_app:app\n",
        "sync_app.py": CALL,
        "elsewhere.py": CALL,
    }
    code, names, err = run(files)

    assert (1, ["elsewhere.py"]) == (code, names)
    assert "1 in processes without gevent" in err


@pytest.mark.parametrize("option", ["--paste", "--paster"])
def test_settings_that_a_command_names_show_that_its_process_runs_on_gevent(run, option):
    files = {
        "Procfile": f"web: gunicorn {option} shop.ini\n",
        "shop.ini": "[app:main]\nuse = call:app:main\n"
        "[server:main]\nuse = egg:gunicorn\nworker_class = gevent\n",
        "app.py": "import os\ndef main(global_config):\n    return view\n"
        "def view(environ, start_response):\n    os.system('sync')\n",
    }
    code, names, err = run(files)

    assert (1, ["app.py"]) == (code, names)
    assert UNKNOWN not in err


@pytest.mark.parametrize(
    "files",
    [
        {"Procfile": "worker: huey_consumer app.queue -k greenlet\n"},
        {"Dockerfile": "FROM python\nENV UWSGI_GEVENT=9 UWSGI_MODULE=app:view\nCMD uwsgi\n"},
    ],
)
def test_code_that_never_names_gevent_is_not_patched_by_every_server(run, files):
    code, names, _ = run(
        {
            **files,
            "app.py": "import time\nfrom huey import RedisHuey\nqueue = RedisHuey()\n"
            "@queue.task()\ndef place():\n    time.sleep(9)\n"
            "def view(environ, start_response):\n    time.sleep(9)\n",
        }
    )
    assert (1, ["app.py", "app.py"]) == (code, names)


@pytest.mark.parametrize(
    ("options", "required", "code"),
    [
        ("-c /etc/shop/gunicorn.conf.py", "gevent", 1),
        ("-c /etc/shop/gunicorn.conf.py", "redis", 0),
        ("-c /etc/shop/gunicorn.conf.py -k sync", "gevent", 0),
        ("--workers 2", "gevent", 0),
    ],
)
def test_settings_of_gunicorn_from_elsewhere_may_choose_gevent(run, options, required, code):
    files = {
        "requirements.txt": f"gunicorn\n{required}\n",
        "Dockerfile": f"FROM python\nCMD gunicorn {options} app:view\n",
        "app.py": "import os\ndef view(environ, start_response):\n    os.system('sync')\n",
    }
    assert (code, ["app.py"] * code) == run(files)[:2]


def test_a_variable_of_uwsgi_shows_that_its_process_runs_on_gevent(run):
    files = {
        "Dockerfile": "FROM python\nENV UWSGI_GEVENT=100 UWSGI_MODULE=app:view\nCMD uwsgi\n",
        "app.py": "import os\ndef view(environ, start_response):\n    os.system('sync')\n",
    }
    code, names, err = run(files)

    assert (1, ["app.py"]) == (code, names)
    assert LINE not in err


def test_a_library_whose_server_has_a_thread_of_its_own_gets_one_line(run):
    server = (
        "import threading\nfrom gevent.pywsgi import WSGIServer\n"
        "class Board:\n"
        "    def start(self):\n        threading.Thread(target=self._serve).start()\n"
        "    def _serve(self):\n        WSGIServer(('', 80), print).serve_forever()\n"
    )
    files = {"setup.py": "", "board.py": server, "model.py": CALL}
    code, names, err = run(files)

    assert (0, []) == (code, names)
    assert "nothing here runs on gevent but a thread" in err
    assert "board.py" in err
    assert (1, ["model.py"]) == run({}, "--assume-gevent")[:2]


WORK = (
    "import os, time, gevent\n"
    "def push(place):\n    time.sleep(5)\n"
    "def run():\n    gevent.joinall([gevent.spawn(push, 1), gevent.spawn(push, 2)])\n"
)


@pytest.mark.parametrize(
    "main",
    [
        "from push import run\nif __name__ == '__main__':\n    run()\n",
        "import gevent\nfrom push import run\nrun()\n",
        "def main():\n    from push import run\n    run()\n"
        "if __name__ == '__main__':\n    main()\n",
    ],
)
def test_the_greenlets_of_a_program_wait_for_one_another(run, main):
    files = {"Procfile": "worker: python main.py\n", "main.py": main, "push.py": WORK}
    assert (1, ["main.py", "push.py"]) == run(files)[:2]


APART = (
    "import threading, gevent\n"
    "class Client:\n"
    "    def start(self):\n        threading.Thread(target=self._run).start()\n"
    "    def _run(self):\n        gevent.joinall([gevent.spawn(self._forward, 1)])\n"
    "    def _forward(self, left):\n"
    "        gevent.spawn(self._send)\n        return left and self._forward(left - 1)\n"
    "    def _send(self): ...\n"
)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("", 0),
        ("    def other(self):\n        gevent.spawn(self._forward, 2)\n", 1),
        ("    def other(self):\n        self._forward(2)\n", 1),
        ("    def other(self):\n        threading.Thread(target=self._forward).start()\n", 0),
        ("    def other(self):\n        return self._sent()\n", 0),
    ],
)
def test_greenlets_that_a_thread_starts_start_others_in_it(run, more, code):
    files = {"setup.py": "", "client.py": APART + more, "model.py": CALL}
    assert code == run(files)[0]


@pytest.mark.parametrize(
    ("worker", "code"), [("-k gthread", 0), ("-k gevent", 1), ("-k $WORKER", 1), ("", 0)]
)
def test_what_a_server_without_gevent_shares_with_a_loose_module_is_a_note(run, worker, code):
    files = {
        "requirements.txt": "gevent\n",
        "Procfile": f"web: gunicorn {worker} shop:app\n",
        "shop.py": "import pool\n",
        "pool.py": "import pylibmc\nCLIENT = pylibmc.Client([''])\n"
        "class Pool:\n    def get(self):\n        return CLIENT.get('a')\n",
        "loose.py": "import pool\n",
    }
    assert code == run(files)[0]
