"""The ways in which a repository starts one process on gevent, one small repository for each."""

from __future__ import annotations

import pytest
from harness import CATALOG

from gblock.project.names.inference import Inference
from gblock.project.processes.patching import PATCHED
from gblock.project.processes.processes import Processes
from gblock.project.reading.modules import Modules

APPLICATION = {"app.py": "import flask\n\napp = flask.Flask('x')\n"}

CHOSEN = "import os\nworker_class = os.environ.get('W', 'sync')\n"
WAYS = {
    "gunicorn conf default name": {
        "gunicorn.conf.py": "worker_class = 'gevent'\n",
        "Procfile": "web: gunicorn app:app\n",
    },
    "gunicorn -c python:": {
        "conf/g.py": "worker_class = 'gevent'\n",
        "conf/__init__.py": "",
        "Procfile": "web: gunicorn -c python:conf.g app:app\n",
    },
    "gunicorn conf getattr env": {
        "gunicorn_conf.py": ("import os\nworker_class = os.environ.get('W', 'gevent')\nbind='x'\n"),
        "run.sh": "exec gunicorn -c gunicorn_conf.py app:app\n",
    },
    "gunicorn conf by systemd's environment": {
        "g.py": CHOSEN,
        "web.service": "[Service]\nEnvironment=W=gevent\nExecStart=gunicorn -c g.py app:app\n",
    },
    "gunicorn conf by compose's environment": {
        "g.py": CHOSEN,
        "Dockerfile": "FROM x\nCMD gunicorn -c g.py app:app\n",
        "compose.yaml": "services:\n  web:\n    build: .\n    environment:\n      W: gevent\n",
    },
    "gunicorn conf by an image's environment": {
        "g.py": "import os\nworker_class = os.environ['W'] if os.getenv('ON') else 'sync'\n",
        "Dockerfile": "FROM x\nENV W=gevent ON=1\nCMD gunicorn -c g.py app:app\n",
    },
    "gunicorn's module serves": {
        "app.py": (
            "from gevent import monkey; monkey.patch_all()\nfrom gevent.pywsgi import WSGIServer\n"
            "import flask\napp = flask.Flask('x')\nWSGIServer(('', 80), app).serve_forever()\n"
        ),
        "Procfile": "web: gunicorn app:app\n",
    },
    "gunicorn conf imports another": {
        "g.py": "from base import *\nbind = ':80'\n",
        "base.py": "worker_class = 'gevent'\n",
        "Procfile": "web: gunicorn -c g.py app:app\n",
    },
    "uWSGI's options beside its file": {
        "app.ini": "[uwsgi]\nmodule = app:app\n",
        "service/web/run": (
            "#!/bin/sh\nexec 2>&1\nexec chpst -u www uwsgi --ini app.ini --gevent 9\n"
        ),
    },
    "a merged service of compose": {
        "compose.yaml": (
            "x-base: &base\n  build: .\n  command: gunicorn -k $K app:app\n"
            "services:\n  web:\n    <<: *base\n    environment: {K: gevent}\n"
        ),
    },
    "celery's pool by the environment": {
        "app.py": "from celery import Celery\napp = Celery('x')\n",
        "Procfile": "w: CELERY_WORKER_POOL=gevent celery -A app worker\n",
    },
    "rq with a worker class": {
        "green.py": "import gevent\nimport rq\nclass Worker(rq.Worker): pass\n",
        "Procfile": "w: rq worker -w green.Worker\n",
    },
    "geventwebsocket": {
        "run.py": (
            "from geventwebsocket import WebSocketServer\nfrom app import app\n"
            "WebSocketServer(('', 80), app).serve_forever()\n"
        ),
        "Procfile": "web: python run.py\n",
    },
    "Ansible's variables": {
        "roles/a/defaults/main.yml": "kind: sync\n",
        "group_vars/all.yml": "kind: gevent\n",
        "roles/a/templates/web.service.j2": (
            "[Service]\nExecStart={{ venv }}/gunicorn -k {{ kind }} app:app\n"
        ),
    },
    "Procfile": {
        "Procfile": "web: gunicorn -k gevent app:app\n",
    },
    "Dockerfile CMD json": {
        "Dockerfile": (
            'FROM x\nCOPY . /app\nWORKDIR /app\nCMD ["gunicorn","-k","gevent","app:app"]\n'
        ),
    },
    "Dockerfile ENTRYPOINT+CMD": {
        "Dockerfile": (
            'FROM x\nENTRYPOINT ["gunicorn"]\nCMD ["--worker-class=gevent","app:app"]\n'
        ),
    },
    "Dockerfile shell form env": {
        "Dockerfile": "FROM x\nENV K=gevent\nCMD gunicorn -k $K app:app\n",
    },
    "Dockerfile ARG": {
        "Dockerfile": ("FROM x\nARG K=gevent\nENV WK=$K\nCMD exec gunicorn -k ${WK} app:app\n"),
    },
    "docker entrypoint script": {
        "Dockerfile": (
            "FROM x\n"
            "COPY entrypoint.sh /entrypoint.sh\n"
            'ENTRYPOINT ["/entrypoint.sh"]\n'
            'CMD ["web"]\n'
        ),
        "entrypoint.sh": (
            "#!/bin/sh\n"
            'case "$1" in\n'
            " web) exec gunicorn -k gevent app:app ;;\n"
            " worker) exec celery -A tasks worker ;;\n"
            "esac\n"
        ),
    },
    "entrypoint passes args": {
        "Dockerfile": (
            "FROM x\n"
            "COPY entrypoint.sh /entrypoint.sh\n"
            'ENTRYPOINT ["/entrypoint.sh"]\n'
            'CMD ["gunicorn","-k","gevent","app:app"]\n'
        ),
        "entrypoint.sh": '#!/bin/sh\nset -e\nexec "$@"\n',
    },
    "compose list": {
        "docker-compose.yml": (
            'services:\n  web:\n    build: .\n    command: ["gunicorn","-k","gevent","app:app"]\n'
        ),
    },
    "compose folded": {
        "compose.yaml": (
            "services:\n"
            "  web:\n"
            "    build: .\n"
            "    command: >\n"
            "      gunicorn\n"
            "      -k gevent\n"
            "      app:app\n"
        ),
    },
    "compose sh -c": {
        "docker-compose.yml": (
            "services:\n"
            "  web:\n"
            '    command: sh -c "python manage.py migrate && gunicorn -k gevent app:app"\n'
        ),
    },
    "compose env var default": {
        "docker-compose.yml": (
            "services:\n  web:\n    command: gunicorn -k ${WORKER:-gevent} app:app\n"
        ),
    },
    "compose anchors": {
        "docker-compose.yml": (
            "x-c: &c\n  command: gunicorn -k gevent app:app\nservices:\n  web:\n    <<: *c\n"
        ),
    },
    "compose env file": {
        "docker-compose.yml": (
            "services:\n  web:\n    env_file: .env\n    command: gunicorn app:app\n"
        ),
        ".env": "GUNICORN_CMD_ARGS=--worker-class gevent\n",
    },
    "supervisor": {
        "supervisord.conf": "[program:web]\ncommand=gunicorn -k gevent app:app\n",
    },
    "supervisor env": {
        "web.ini": (
            "[program:web]\n"
            "command=%(ENV_HOME)s/bin/gunicorn --worker-class gevent\n"
            "  app:app\n"
            "directory=/x\n"
        ),
    },
    "systemd": {
        "web.service": (
            "[Service]\n"
            "WorkingDirectory=/srv/app\n"
            "ExecStart=/srv/venv/bin/gunicorn \\\n"
            "  -k gevent app:app\n"
        ),
    },
    "systemd env": {
        "web.service": (
            '[Service]\nEnvironment="W=gevent"\nExecStart=/srv/venv/bin/gunicorn -k ${W} app:app\n'
        ),
    },
    "k8s": {
        "k8s/deploy.yaml": (
            "apiVersion: apps/v1\n"
            "kind: Deployment\n"
            "spec:\n"
            "  template:\n"
            "    spec:\n"
            "      containers:\n"
            "      - name: web\n"
            "        image: x\n"
            '        command: ["gunicorn"]\n'
            '        args: ["-k","gevent","app:app"]\n'
        ),
    },
    "k8s sh -c": {
        "k8s/deploy.yaml": (
            "apiVersion: apps/v1\n"
            "kind: Deployment\n"
            "spec:\n"
            "  template:\n"
            "    spec:\n"
            "      containers:\n"
            "      - name: web\n"
            "        image: x\n"
            "        command:\n"
            "        - /bin/sh\n"
            "        - -c\n"
            "        - |\n"
            "          set -e\n"
            "          exec gunicorn -k gevent app:app\n"
        ),
    },
    "k8s env": {
        "k8s/deploy.yaml": (
            "apiVersion: apps/v1\n"
            "kind: Deployment\n"
            "spec:\n"
            "  template:\n"
            "    spec:\n"
            "      containers:\n"
            "      - name: web\n"
            "        image: x\n"
            "        env:\n"
            "        - name: W\n"
            "          value: gevent\n"
            '        command: ["gunicorn","-k","$(W)","app:app"]\n'
        ),
    },
    "helm values args": {
        "chart/Chart.yaml": "name: x\n",
        "chart/values.yaml": ('web:\n  command: ["gunicorn"]\n  args: ["-k","gevent","app:app"]\n'),
        "chart/templates/d.yaml": (
            "apiVersion: apps/v1\n"
            "kind: Deployment\n"
            "spec:\n"
            "  template:\n"
            "    spec:\n"
            "      containers:\n"
            "      - name: web\n"
            "        command: {{ toJson .Values.web.command }}\n"
            "        args:\n"
            "{{ toYaml .Values.web.args | indent 8 }}\n"
        ),
    },
    "helm values worker class": {
        "chart/Chart.yaml": "name: x\n",
        "chart/values.yaml": "workerClass: gevent\n",
        "chart/templates/d.yaml": (
            "apiVersion: apps/v1\n"
            "kind: Deployment\n"
            "spec:\n"
            "  template:\n"
            "    spec:\n"
            "      containers:\n"
            "      - name: web\n"
            '        command: ["gunicorn", "-k", "{{ .Values.workerClass }}", "app:app"]\n'
        ),
    },
    "uwsgi.ini": {
        "uwsgi.ini": "[uwsgi]\nmodule = app:app\ngevent = 100\n",
    },
    "uwsgi yaml": {
        "uwsgi.yaml": "uwsgi:\n  module: app:app\n  gevent: 100\n",
    },
    "uwsgi cmd": {
        "run.sh": "uwsgi --http :80 --gevent 100 --module app:app\n",
    },
    "uwsgi loop": {
        "uwsgi.ini": "[uwsgi]\nwsgi-file = app.py\nloop = gevent\nasync = 10\n",
    },
    "Makefile": {
        "Makefile": "WORKER=gevent\nrun:\n\tgunicorn -k $(WORKER) app:app\n",
    },
    "Makefile multi": {
        "Makefile": ("run:\n\tFLASK_ENV=x \\\n\tgunicorn \\\n\t  --worker-class gevent app:app\n"),
    },
    "shell script": {
        "bin/start": "#!/bin/bash\nexec gunicorn --worker-class gevent app:app\n",
    },
    "shell function $1": {
        "start.sh": ('#!/bin/bash\nserve() {\n  exec gunicorn -k "$1" app:app\n}\nserve gevent\n'),
    },
    "shell backticks": {
        "start.sh": "#!/bin/bash\nW=`echo gevent`\ngunicorn -k $W app:app\n",
    },
    "shell $(echo)": {
        "start.sh": "#!/bin/bash\nW=$(echo gevent)\ngunicorn -k $W app:app\n",
    },
    "shell backtick command": {
        "start.sh": "#!/bin/bash\nPID=`gunicorn -k gevent app:app`\n",
    },
    "shell $1 default": {
        "start.sh": "#!/bin/bash\nW=${1:-gevent}\ngunicorn -k $W app:app\n",
    },
    "shell $1 from Procfile": {
        "start.sh": "#!/bin/bash\ngunicorn -k $1 app:app\n",
        "Procfile": "web: ./start.sh gevent\n",
    },
    "shell source": {
        "env.sh": "export W=gevent\n",
        "start.sh": "#!/bin/bash\n. ./env.sh\ngunicorn -k $W app:app\n",
    },
    "shell array": {
        "start.sh": (
            '#!/bin/bash\nARGS=(-k gevent)\nARGS+=(app:app)\nexec gunicorn "${ARGS[@]}"\n'
        ),
    },
    "shell set --": {
        "start.sh": '#!/bin/sh\nset -- gunicorn -k gevent app:app\nexec "$@"\n',
    },
    "shell arguments collected": {
        "start.sh": (
            '#!/bin/bash\nif [ "$1" = gunicorn ]; then\n  ARGS=()\n  for arg in "$@"; do\n'
            '    if [ "$SKIP" ]; then\n      ARGS+=(/dev/null)\n      continue\n    fi\n'
            '    ARGS+=("$arg")\n  done\n  set -- "${ARGS[@]}"\nfi\nexec "$@"\n'
        ),
        "Dockerfile": (
            'FROM python\nCOPY . .\nENTRYPOINT ["./start.sh"]\n'
            'CMD ["gunicorn", "-k", "gevent", "app:app"]\n'
        ),
    },
    "shell nohup su": {
        "start.sh": '#!/bin/sh\nnohup su app -c "gunicorn -k gevent app:app" &\n',
    },
    "shell if else": {
        "start.sh": (
            '#!/bin/sh\nif [ -n "$X" ]; then W=gevent; else W=sync; fi\ngunicorn -k $W app:app\n'
        ),
    },
    "shell function call args": {
        "start.sh": (
            "#!/bin/bash\n"
            "function run_app {\n"
            "  local worker=$1\n"
            "  shift\n"
            '  gunicorn --worker-class=${worker} "$@"\n'
            "}\n"
            "run_app gevent app:app\n"
        ),
    },
    "package.json": {
        "package.json": '{"scripts":{"start":"gunicorn -k gevent app:app"}}',
    },
    "justfile": {
        "justfile": ('worker := "gevent"\nserve:\n    gunicorn -k {{worker}} app:app\n'),
    },
    "circus": {
        "circus.ini": "[watcher:web]\ncmd = gunicorn -k gevent app:app\n",
    },
    "circus args": {
        "circus.ini": "[watcher:web]\ncmd = gunicorn\nargs = -k gevent app:app\n",
    },
    "honcho": {
        "Procfile.dev": "web: gunicorn -k gevent app:app\n",
    },
    "ansible template": {
        "roles/web/templates/web.service.j2": (
            "[Service]\nExecStart={{ venv }}/bin/gunicorn -k gevent -b 0.0.0.0:{{ port }} app:app\n"
        ),
    },
    "ansible task command": {
        "playbook.yml": (
            "- hosts: all\n  tasks:\n  - name: run\n    command: gunicorn -k gevent app:app\n"
        ),
    },
    "runit": {
        "sv/web/run": "#!/bin/sh\nexec chpst -u x gunicorn -k gevent app:app\n",
    },
    "app.yaml gae": {
        "app.yaml": "runtime: python\nentrypoint: gunicorn -k gevent app:app\n",
    },
    "fly.toml": {
        "fly.toml": '[processes]\nweb = "gunicorn -k gevent app:app"\n',
    },
    "render.yaml": {
        "render.yaml": ("services:\n- type: web\n  startCommand: gunicorn -k gevent app:app\n"),
    },
    "railway": {
        "railway.json": '{"deploy":{"startCommand":"gunicorn -k gevent app:app"}}',
    },
    "Nomad": {
        "web.nomad": (
            'job "web" {\n'
            '  task "web" {\n'
            "    config {\n"
            '      command = "gunicorn" # of the image\n'
            '      args    = ["-b", "${NOMAD_ADDR_http}", "app:app"]\n'
            "    }\n"
            "    env {\n"
            '      GUNICORN_CMD_ARGS = "-k gevent"\n'
            "    }\n"
            "  }\n"
            "}\n"
        ),
    },
    "Terraform, a list": {
        "ecs.tf": (
            'resource "aws_ecs_task_definition" "web" {\n'
            "  container_definitions = jsonencode([\n"
            '    { name = "web", image = "${var.image}:1",\n'
            '      command = ["gunicorn", "-k", "gevent", "app:app"] }\n'
            "  ])\n"
            "}\n"
        ),
    },
    "Terraform, a text": {
        "ecs.tf": (
            'resource "aws_ecs_task_definition" "web" {\n'
            "  container_definitions = <<EOF\n"
            '[{"name": "web", "entryPoint": ["sh", "-c"],\n'
            '  "command": ["gunicorn app:app"],\n'
            '  "environment": [{"name": "GUNICORN_CMD_ARGS", "value": "-k gevent"}]}]\n'
            "EOF\n"
            "}\n"
        ),
    },
    "Azure startup.txt": {
        "startup.txt": "gunicorn -k gevent app:app\n",
    },
    "batch file": {
        "start.bat": (
            "@echo off\r\n"
            "rem the web server's class\r\n"
            "set KIND=gevent\r\n"
            'start "web" /b venv\\Scripts\\gunicorn.exe ^\r\n'
            "  -k %KIND% app:app\r\n"
        ),
    },
    "PowerShell": {
        "start.ps1": (
            '$env:GUNICORN_CMD_ARGS = "-k gevent"\n& .\\venv\\Scripts\\gunicorn.exe `\n  app:app\n'
        ),
    },
    "uwsgi by its environment": {
        "Dockerfile": (
            "FROM x\n"
            "ENV UWSGI_WSGI_FILE=app.py UWSGI_CALLABLE=app UWSGI_GEVENT=100\n"
            'CMD ["uwsgi", "--master"]\n'
        ),
    },
    "nixpacks": {
        "nixpacks.toml": '[start]\ncmd = "gunicorn -k gevent app:app"\n',
    },
    "pyproject scripts": {
        "pyproject.toml": '[project.scripts]\nserve="serve:main"\n',
        "serve.py": (
            "from gevent import monkey; monkey.patch_all()\n"
            "from gevent.pywsgi import WSGIServer\n"
            "from app import app\n"
            'def main(): WSGIServer(("",1),app).serve_forever()\n'
        ),
    },
    "poe task": {
        "pyproject.toml": '[tool.poe.tasks]\nserve="gunicorn -k gevent app:app"\n',
    },
    "pdm script": {
        "pyproject.toml": '[tool.pdm.scripts]\nserve={cmd="gunicorn -k gevent app:app"}\n',
    },
    "hatch script": {
        "pyproject.toml": (
            '[tool.hatch.envs.default.scripts]\nserve="gunicorn -k gevent app:app"\n'
        ),
    },
    "pipenv": {
        "Pipfile": '[scripts]\nserve = "gunicorn -k gevent app:app"\n',
    },
    "invoke tasks.py": {
        "tasks.py": (
            "from invoke import task\n"
            "@task\n"
            "def serve(c):\n"
            '    c.run("gunicorn -k gevent app:app")\n'
        ),
    },
    "fabric": {
        "fabfile.py": (
            'from fabric.api import run\ndef deploy():\n    run("gunicorn -k gevent app:app -D")\n'
        ),
    },
    "popen list": {
        "run.py": ('import subprocess\nsubprocess.Popen(["gunicorn","-k","gevent","app:app"])\n'),
    },
    "popen format": {
        "run.py": (
            "import subprocess\n"
            'W="gevent"\n'
            'subprocess.call("gunicorn -k {} app:app".format(W), shell=True)\n'
        ),
    },
    "popen format named": {
        "run.py": (
            "import os\n"
            'cmd = "gunicorn -k {k} -b {host} app:app".format(k="gevent", host="x")\n'
            "os.system(cmd)\n"
        ),
    },
    "popen fstring": {
        "run.py": 'import os\nW="gevent"\nos.system(f"gunicorn -k {W} app:app")\n',
    },
    "popen percent": {
        "run.py": ('import os\nW="gevent"\nos.system("gunicorn -k %s app:app" % W)\n'),
    },
    "popen fstring unknown bind": {
        "run.py": (
            'import os\ndef main(port):\n    os.system(f"gunicorn -k gevent -b :{port} app:app")\n'
        ),
    },
    "popen shlex": {
        "run.py": (
            'import shlex, subprocess\nsubprocess.run(shlex.split("gunicorn -k gevent app:app"))\n'
        ),
    },
    "popen join": {
        "run.py": ('import os\nos.system(" ".join(["gunicorn","-k","gevent","app:app"]))\n'),
    },
    "popen list append": {
        "run.py": (
            "import subprocess\n"
            'cmd=["gunicorn"]\n'
            'cmd += ["-k","gevent"]\n'
            'cmd.append("app:app")\n'
            "subprocess.run(cmd)\n"
        ),
    },
    "popen python x.py": {
        "run.py": 'import subprocess\nsubprocess.Popen(["python", "serve.py"])\n',
        "serve.py": (
            "import gevent\n"
            "from gevent import monkey\n"
            "monkey.patch_all()\n"
            "from gevent.pywsgi import WSGIServer\n"
            "from app import app\n"
            'WSGIServer(("",1),app).serve_forever()\n'
        ),
    },
    "popen sys.executable": {
        "run.py": ('import subprocess, sys\nsubprocess.Popen([sys.executable, "-m", "serve"])\n'),
        "serve.py": (
            "from gevent import monkey\n"
            "monkey.patch_all()\n"
            "from gevent.pywsgi import WSGIServer\n"
            "from app import app\n"
            'WSGIServer(("",1),app).serve_forever()\n'
        ),
    },
    "mp spawn target": {
        "run.py": (
            "import multiprocessing\n"
            "from serve import main\n"
            'if __name__=="__main__":\n'
            '    multiprocessing.set_start_method("spawn")\n'
            "    multiprocessing.Process(target=main).start()\n"
        ),
        "serve.py": (
            "from gevent import monkey\n"
            "monkey.patch_all()\n"
            "from gevent.pywsgi import WSGIServer\n"
            "from app import app\n"
            'def main(): WSGIServer(("",1),app).serve_forever()\n'
        ),
    },
    "gunicorn embedded options": {
        "run.py": (
            "from gunicorn.app.base import BaseApplication\n"
            "from app import app\n"
            "class A(BaseApplication):\n"
            "    def load_config(self):\n"
            '        self.cfg.set("worker_class","gevent")\n'
            "    def load(self): return app\n"
            'if __name__=="__main__": A().run()\n'
        ),
    },
    "celery pool": {
        "Procfile": "w: celery -A app worker -P gevent\n",
    },
    "celery env": {
        "Dockerfile": (
            "FROM x\nENV CELERY_POOL=gevent\nCMD celery -A app worker --pool=$CELERY_POOL\n"
        ),
    },
    "celery multi": {
        "start.sh": "celery multi start w1 -A app -P gevent\n",
    },
    "flask-socketio run": {
        "run.py": (
            "from gevent import monkey; monkey.patch_all()\n"
            "from flask_socketio import SocketIO\n"
            "from app import app\n"
            's=SocketIO(app, async_mode="gevent")\n'
            'if __name__=="__main__": s.run(app)\n'
        ),
    },
    "gunicorn geventwebsocket": {
        "Procfile": "web: gunicorn -k geventwebsocket.gunicorn.workers.GeventWebSocketWorker app\n",
    },
    "procfile honcho sh": {
        "Procfile": "web: bash -c 'cd src && gunicorn -k gevent app:app'\n",
        "src/app.py": "app = 1\n",
    },
    "heroku.yml": {
        "heroku.yml": "run:\n  web: gunicorn -k gevent app:app\n",
    },
    "s6": {
        "root/etc/services.d/web/run": "#!/bin/sh\nexec gunicorn -k gevent app:app\n",
    },
    "monit/dockerfile healthcheck": {
        "Dockerfile": (
            "FROM x\n"
            "HEALTHCHECK CMD curl x\n"
            "RUN pip install x && \\\n"
            "  apt-get\n"
            "CMD gunicorn \\\n"
            "  # comment\n"
            "  -k gevent \\\n"
            "  app:app\n"
        ),
    },
    "python -m gunicorn": {
        "Procfile": "web: python -m gunicorn -k gevent app:app\n",
    },
    "poetry run": {
        "Procfile": "web: poetry run gunicorn -k gevent app:app\n",
    },
    "newrelic-admin": {
        "Procfile": "web: newrelic-admin run-program gunicorn -k gevent app:app\n",
    },
    "ddtrace tini": {
        "Dockerfile": (
            "FROM x\n"
            'ENTRYPOINT ["/tini","--","ddtrace-run"]\n'
            'CMD ["gunicorn","-k","gevent","app:app"]\n'
        ),
    },
    "opentelemetry-instrument": {
        "Procfile": "web: opentelemetry-instrument gunicorn -k gevent app:app\n",
    },
    "uv run": {
        "Procfile": "web: uv run gunicorn -k gevent app:app\n",
    },
    "dumb-init gosu": {
        "Dockerfile": (
            "FROM x\n"
            'ENTRYPOINT ["dumb-init","gosu","app"]\n'
            'CMD ["gunicorn","-k","gevent","app:app"]\n'
        ),
    },
    "wait-for-it": {
        "docker-compose.yml": (
            "services:\n"
            "  web:\n"
            '    command: ["./wait-for-it.sh","db:5432","--","gunicorn","-k","gevent","app:app"]\n'
        ),
    },
    "dockerize": {
        "docker-compose.yml": (
            "services:\n"
            "  web:\n"
            "    command: dockerize -wait tcp://db:1 gunicorn -k gevent app:app\n"
        ),
    },
    "time/nice/env": {
        "run.sh": "env X=1 nice -n 5 gunicorn -k gevent app:app\n",
    },
    "while loop": {
        "run.sh": "while true; do gunicorn -k gevent app:app; sleep 1; done\n",
    },
    "getopts": {
        "run.sh": (
            "#!/bin/bash\n"
            "WORKER=gevent\n"
            'while getopts "w:" o; do case $o in w) WORKER=$OPTARG;; esac; done\n'
            'gunicorn -k "$WORKER" app:app\n'
        ),
    },
}


CERTAIN = ("shell function $1", "shell function call args", "shell source", "shell backticks")
"""Scripts of which every branch is known."""


def processes(root, files):
    """The processes of a repository of some files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    paths = sorted(str(path) for path in root.rglob("*.py"))
    return Processes(Inference(Modules(str(root), paths), CATALOG)).all()


@pytest.mark.parametrize("title", WAYS)
def test_a_repository_starts_a_process_on_gevent(tmp_path, title):
    files = WAYS[title]
    found = processes(tmp_path, files if "src/app.py" in files else {**APPLICATION, **files})
    assert "yes" in [one.runs_on_gevent for one in found]
    assert any(one.entries and not one.in_turn for one in found)
    if title in CERTAIN:
        assert ["yes"] == [one.runs_on_gevent for one in found]


PLAIN = {
    "another service's environment": {
        "g.py": CHOSEN,
        "a.service": "[Service]\nEnvironment=W=sync\nExecStart=gunicorn -c g.py app:app\n",
        "b.service": "[Service]\nEnvironment=W=gevent\nExecStart=python tool.py\n",
    },
    "Ansible's variables": {
        "group_vars/all.yml": "workers: 3\n",
        "roles/a/templates/web.service.j2": (
            "[Service]\nExecStart=celery -A app worker "
            "{% if pool is defined %}-P {{ pool }}{% else %}-c 4{% endif %}\n"
        ),
    },
    "a shared part of compose": {
        "compose.yaml": (
            "x-base: &base\n  build: .\n  command: gunicorn -k gevent app:app\n"
            "services:\n  web:\n    <<: *base\n    command: gunicorn app:app\n"
        ),
    },
    "another settings file of uWSGI": {
        "app.ini": "[uwsgi]\nmodule = app:app\n",
        "run.sh": "uwsgi --ini other.ini --gevent 9\n",
    },
    "a server for developers": {
        "Procfile": "web: gunicorn app:app\n",
        "Makefile": "dev:\n\tpython devserver.py\n",
        "devserver.py": (
            "from gevent.pywsgi import WSGIServer\nfrom app import app\n"
            "WSGIServer(('', 80), app).serve_forever()\n"
        ),
    },
}


SERVER = (
    "from gevent import monkey; monkey.patch_all()\n"
    "from gevent.pywsgi import WSGIServer\nfrom shop import app\n"
    "WSGIServer(('', 80), app).serve_forever()\n"
)
BESIDE = {
    "nothing starts it": ({"Procfile": "web: gunicorn web:app\n"}, "no"),
    "a server on gevent": ({"Procfile": "web: gunicorn -k gevent web:app\n"}, "no"),
    "a recipe": ({"Makefile": "run:\n\tpython server.py\n"}, "yes"),
    "a recipe beside a server": (
        {"Makefile": "run:\n\tpython server.py\n", "Procfile": "web: gunicorn web:app\n"},
        "yes",
    ),
    "a recipe beside a server on gevent": (
        {"Makefile": "run:\n\tpython server.py\n", "Procfile": "web: gunicorn -k gevent web:app\n"},
        "no",
    ),
    "another recipe's file": (
        {
            "Makefile": "run:\n\tpython server.py\n",
            "Procfile": "web: gunicorn -k gevent other:app\n",
        },
        "yes",
    ),
    "a unit": (
        {
            "a.service": "[Service]\nExecStart=python server.py\n",
            "Procfile": "web: gunicorn web:app\n",
        },
        "yes",
    ),
    "code": (
        {
            "start.py": "import subprocess\nsubprocess.run(['python', 'server.py'])\n",
            "Procfile": "web: gunicorn web:app\nother: python start.py\n",
        },
        "yes",
    ),
    "a text": ({"README.md": "python server.py\n", "Procfile": "web: gunicorn web:app\n"}, "yes"),
}


@pytest.mark.parametrize("title", BESIDE)
def test_a_script_beside_a_server_of_the_same_application(tmp_path, title):
    files, expected = BESIDE[title]
    project = {
        "shop.py": "from flask import Flask\napp = Flask(__name__)\n",
        "web.py": "from shop import app\n",
        "other.py": "from flask import Flask\napp = Flask(__name__)\n",
        "server.py": SERVER,
    }
    found = {one.name: one for one in processes(tmp_path, {**project, **files})}
    assert expected == found["python server.py"].runs_on_gevent


@pytest.mark.parametrize("title", PLAIN)
def test_a_repository_starts_none_on_gevent(tmp_path, title):
    found = processes(tmp_path, {**APPLICATION, **PLAIN[title]})
    known = [one for one in found if one.kind != "uwsgi" or not one.open]
    assert {"no"} == {one.runs_on_gevent for one in known}


def test_a_recipe_for_anything_else_starts_a_server(tmp_path):
    files = {**PLAIN["a server for developers"], "Makefile": "serve:\n\tpython devserver.py\n"}
    files["server.py"] = files.pop("devserver.py")
    files["Makefile"] = "serve:\n\tpython server.py\n"
    found = {one.name: one.runs_on_gevent for one in processes(tmp_path, {**APPLICATION, **files})}
    assert "yes" == found["python server.py"]


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ("", ()),
        ("--no-thread", ("threading",)),
        ("--no-select --no-ssl", ("select", "selectors", "ssl")),
        ("--socket --verbose", tuple(one for one in PATCHED if one not in ("socket", "dns"))),
    ],
)
def test_options_of_gevents_own_program_leave_modules_out(tmp_path, options, missing):
    files = {"Procfile": f"web: python -m gevent.monkey {options} app.py --no-ssl\n"}
    (found,) = processes(tmp_path, {**APPLICATION, **files})
    assert missing == found.missing
    assert ("partial" if missing else "by the server") == found.patched


@pytest.mark.parametrize("name", ["sitecustomize.py", "usercustomize.py", "customize.py"])
def test_python_imports_a_module_that_patches_before_a_program(tmp_path, name):
    files = {name: "import gevent.monkey\ngevent.monkey.patch_all()\n"}
    files["Procfile"] = "web: python run.py\n"
    files["run.py"] = (
        "from gevent.pywsgi import WSGIServer\nfrom app import app\n"
        "WSGIServer(('', 80), app).serve_forever()\n"
    )
    found = {one.name: one.patched for one in processes(tmp_path, {**APPLICATION, **files})}
    assert ("none" if name == "customize.py" else "complete") == found["python run.py"]


@pytest.mark.parametrize(
    "script",
    [
        "cat > /etc/start <<EOF\ngunicorn -k gevent app:app\nEOF\n",
        "serve() {\n  gunicorn -k $1 app:app\n}\nserve sync\n",
        "W=`echo sync`\ngunicorn -k $W app:app\n",
    ],
)
def test_a_script_that_starts_nothing_on_gevent_has_no_such_process(tmp_path, script):
    found = processes(tmp_path, {**APPLICATION, "start.sh": f"#!/bin/bash\n{script}"})
    assert "yes" not in [one.runs_on_gevent for one in found]


@pytest.mark.parametrize(
    ("command", "more", "gevent"),
    [
        ("celery -A jobs worker", "", "no"),
        ("celery -A jobs worker -P solo", "", "no"),
        ("celery -A jobs worker -P threads", "", "yes"),
        ("celery -A jobs worker -P gevent", "", "yes"),
        ("celery -A jobs worker", "import gevent\ndef go(): gevent.spawn(print)\n", "yes"),
        ("celery -A jobs worker", "app.conf.worker_pool = 'gevent'\n", "yes"),
        ("celery -A jobs beat", "", "no"),
        ("rq worker mails", "", "no"),
    ],
)
def test_a_worker_that_runs_one_task_at_a_time_waits_for_no_hub(tmp_path, command, more, gevent):
    files = {
        "Procfile": f"web: gunicorn -k gevent web:app\nworker: {command}\n",
        "web.py": "from gevent import monkey\nmonkey.patch_all()\n"
        "from flask import Flask\napp = Flask(__name__)\n",
        "jobs.py": "from web import app as web\nfrom celery import Celery\n"
        f"app = Celery('x')\n{more}",
    }
    (worker,) = (one for one in processes(tmp_path, files) if one.kind not in ("gunicorn", "tests"))
    assert gevent == worker.runs_on_gevent
