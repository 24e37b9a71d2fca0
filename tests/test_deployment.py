"""The files that start processes, read into commands."""

from __future__ import annotations

import importlib
import os
from contextlib import suppress
from pathlib import Path

import pytest
from harness import CATALOG, check
from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import examples

from gblock.config import Config
from gblock.project.processes import deployment, formats
from gblock.project.processes.deployment import (
    Deployment,
    dockerfile,
    makefile,
    manifests,
    packaging,
    procfile,
    shell,
    units,
    windows_script,
)
from gblock.project.processes.deployment.command import Note, UnreadableError
from gblock.project.processes.deployment.paste import PasteSettings
from gblock.project.processes.deployment.repository import NONE
from gblock.project.processes.deployment.shell import Script
from gblock.project.processes.program import Programs
from gblock.project.reading.tree import Tree

BROKEN = Path(__file__).parent / "fixtures" / "deployments" / "broken"


def texts(commands):
    return [(command.row, command.text) for command in commands]


def simple(text, *arguments, **environment):
    return [
        (one.row, " ".join(one.words))
        for one in Script(text, environment, arguments or None).commands()
    ]


# -- shell


def test_a_command_over_several_lines_stands_on_its_first():
    assert [(2, "gunicorn app:app --workers 4")] == simple(
        "# start\ngunicorn app:app \\\n  --workers 4\n"
    )


@pytest.mark.parametrize("rows", [1, 3, 6])
@pytest.mark.parametrize(
    "body", ["    echo $1\n", "    for v in $1; do\n        echo $v\n    done\n"]
)
def test_the_functions_of_another_script_have_rows_of_their_own(rows, body):
    library = "# library\n" * rows + "need() {\n" + body + "}\n"
    text = ". ../library.sh\nneed DATABASE\nexec gunicorn rest:app\n"
    script = Script(text, {}, None, {"../library.sh": library}.get)
    assert (3, "exec gunicorn rest:app") in [
        (one.row, " ".join(one.words)) for one in script.commands()
    ]
    assert all(one.row <= 3 for one in script.commands())


def test_a_variable_has_the_default_that_the_script_gives_it():
    text = 'KIND=${WORKER_CLASS:-gevent}\nexec gunicorn -k "$KIND" app\n'
    assert [(2, "exec gunicorn -k gevent app")] == simple(text)
    assert [(2, "exec gunicorn -k sync app")] == simple(text, WORKER_CLASS="sync")


def test_a_default_that_is_assigned_in_passing_holds():
    assert [(2, "run web")] == simple(': "${MODE:=web}"\nrun $MODE\n')


def test_a_variable_that_nobody_sets_keeps_its_dollar():
    assert [(1, "gunicorn -k $KIND app")] == simple("gunicorn -k ${KIND} app")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run ${KIND:+-k} ${NONE:+-x}", "run -k"),
        ("run ${KIND?is needed} ${NONE:?is needed}", "run gevent $NONE"),
        ("run ${KIND-sync} ${EMPTY-a} ${EMPTY:-b}", "run gevent b"),
        ("run ${@:-web}", "run web"),
        ("run ${!KIND}", "run $"),
        ("run a\\\nb c\\ d", "run ab c d"),
        ("run $'a b' 'c'\"d\"", "run a b cd"),
        ('run "a \\"b\\" \\$KIND \\x"', 'run a "b" $KIND \\x'),
        ('run "a\\\nb"', "run ab"),
        ("run $'a\\tb \\'c\\'' $'it\\'s'", "run a\tb 'c' it's"),
        ("BLANK=' '\nrun $BLANK x", "run x"),
        ("MORE=a\nMORE+=b\nrun $MORE", "run ab"),
        ('CMD=(run)\nCMD+=(-k gevent)\n"${CMD[@]}"', "run -k gevent"),
    ],
)
def test_words_are_what_the_shell_makes_of_them(text, words):
    assert simple(text, KIND="gevent", EMPTY="")[-1][1] == words


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("JOBS='run a &'\nJOBS+=$'\\nrun b'\neval \"$JOBS\"\n", ["run a", "run b"]),
        ('start() { echo "run $1"; }\neval "$(start web)"\n', ["run web"]),
        ('if [ $A ]; then\n  ALL+="run a;"\nelse\n  ALL+="run b;"\nfi\neval "$ALL"\n',
         ["run a", "run b"]),
        ('ALL="run a &"\neval "${ALL%&}"\n', ["run a"]),
        ("eval run $KIND\n", ["run gevent"]),
    ],
)  # fmt: skip
def test_what_eval_runs_is_read(text, commands):
    found = [words for _, words in simple(text, KIND="gevent") if words.startswith("run")]
    assert commands == found


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${NAME%.*}", "web.jobs"),
        ("${NAME%%.*}", "web"),
        ("${NAME#*.}", "jobs.wsgi"),
        ("${NAME##*.}", "wsgi"),
        ("${NAME%.py}", "web.jobs.wsgi"),
        ("${NONE%.py}", "$NONE"),
    ],
)
def test_a_variable_is_cut_at_its_ends(written, value):
    assert [(2, f"run {value}")] == simple(f"NAME=web.jobs.wsgi\nrun {written}\n")


def test_functions_that_call_one_another_are_read_in_bounds():
    calls = "\n".join(f"  step{number} $1 $RANDOM" for number in range(30))
    text = "\n".join(f"step{number}() {{\n  run {number}\n{calls}\n}}" for number in range(30))
    script = Script(f"{text}\nstep0 a\nrun last\n")

    assert ("run", "0") in {one.words for one in script.commands()}
    assert script._work[0] <= shell._WORK_LIMIT + shell._DEEP


def test_a_command_in_a_variable_falls_into_words():
    assert [(2, "gunicorn -k gevent app")] == simple('CMD="gunicorn -k gevent"\n$CMD app\n')


def test_a_command_in_an_array_falls_into_words():
    assert [(2, "gunicorn -k gevent")] == simple('CMD=(gunicorn -k gevent)\n"${CMD[@]}"\n')


def test_the_arguments_of_a_script_are_put_in():
    assert [(1, "exec python worker.py --fast")] == simple(
        'exec python "$@"', "worker.py", "--fast"
    )
    assert [(1, "python worker.py")] == simple("python $1", "worker.py")


def test_every_branch_is_read():
    text = 'if [ -n "$X" ]; then\n  one\nelse\n  two\nfi\ncase $1 in\n  web) three ;;\nesac\n'
    assert [(2, "one"), (4, "two"), (7, "three")] == [
        one for one in simple(text) if not one[1].startswith("[")
    ]


def test_a_heredoc_holds_no_commands():
    assert [(1, "cat"), (5, "two")] == simple("cat <<EOF\ngunicorn app\nEOF\n\ntwo\n")


def test_redirections_are_no_words():
    assert [(1, "gunicorn app")] == simple("gunicorn app >> /var/log/x 2>&1 < /dev/null")


@pytest.mark.parametrize(("unread", "row"), [("exec gunicorn app", 2), ("make html", None)])
def test_a_quote_that_is_not_closed_ends_the_script(unread, row):
    """A note says so only if what is not read may start a server."""
    script = Script(f'one\ntwo "three\n{unread}\n')
    assert ["one"] == [" ".join(one.words) for one in script.commands()]
    assert row == script.broken


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gunicorn shop:create() -k gevent", "gunicorn shop:create() -k gevent"),
        ("gunicorn 'shop:create()' -k gevent", "gunicorn shop:create() -k gevent"),
        ("gunicorn shop.web:create(env=prod)", "gunicorn shop.web:create(env=prod)"),
        ("(cd web && gunicorn shop:app)", "gunicorn shop:app"),
    ],
)
def test_an_application_factory_needs_no_quotes(text, words):
    assert words == " ".join(Script(text).commands()[-1].words)


def test_what_is_exported_is_in_the_environment():
    (command,) = Script("export GUNICORN_CMD_ARGS='-k gevent'\nA=b gunicorn app").commands()
    assert (("A", "b"), ("GUNICORN_CMD_ARGS", "-k gevent")) == command.environment


@given(st.text(alphabet="ab \n\t'\"\\$`{}()[]|&;<>#=:-@!*0", max_size=60))
def test_no_script_raises(text):
    Script(text).commands()
    Script(text, {"a": "b"}, ("c", "d e")).commands()


@given(st.text(alphabet="ab \t'\"\\%^.=", max_size=30))
def test_a_quote_of_a_batch_file_ends_with_its_line(line):
    """An apostrophe is a letter there, so that the commands after the line are read."""
    text = f"echo.You don't have gunicorn.\r\nrem {line}\r\necho.{line}x\r\ncelery worker\r\n"
    found = windows_script.read(text, "make.bat")
    assert not [one for one in found if isinstance(one, Note)]
    assert ("celery", "worker") in [one.words for one in found]


# -- Procfile and Makefile


def test_a_procfile_names_its_processes():
    (command,) = procfile.read("# all\nweb: gunicorn -k gevent app:app\n", "Procfile")
    assert ("web", 2, "gunicorn -k gevent app:app") == (command.label, command.row, command.text)


def test_a_recipe_has_the_variables_of_its_makefile():
    text = "APP = app:app\nserve:\n\t@gunicorn -k gevent \\\n\t\t$(APP)\n"
    assert [(3, "gunicorn -k gevent app:app")] == texts(makefile.read(text, "Makefile"))


# -- Dockerfile


def started(text):
    return [(c.row, c.words) for c in dockerfile.read(text, "Dockerfile")]


def test_the_list_form_of_cmd_is_taken_as_it_is():
    assert [(2, ("gunicorn", "-k", "gevent", "app"))] == started(
        'FROM python\nCMD ["gunicorn", "-k", \\\n  "gevent", "app"]\n'
    )


def test_the_text_form_of_cmd_is_the_shells():
    assert [(2, ("sh", "-c", "gunicorn app"))] == started("FROM python\ncmd gunicorn app\n")


def test_the_entrypoint_stands_before_the_command():
    assert [(2, ("/run.sh", "web"))] == started(
        'FROM python\nENTRYPOINT ["/run.sh"]\nCMD ["web"]\n'
    )


def test_a_stage_starts_what_the_stage_below_it_starts():
    text = (
        'FROM python AS base\nCMD ["one"]\nFROM base AS other\nRUN true\nFROM base\nCMD ["two"]\n'
    )
    assert [(2, ("one",)), (6, ("two",))] == started(text)


def test_comments_between_continued_lines_are_skipped():
    text = "FROM python\nRUN a \\\n# CMD no\n  && b\nCMD yes\n"
    assert [(5, ("sh", "-c", "yes"))] == started(text)


def test_an_image_has_an_environment():
    (command,) = dockerfile.read(
        'FROM a\nENV A=1 B="two words"\nENV C three\nCMD ["x"]', "Dockerfile"
    )
    assert {"A": "1", "B": "two words", "C": "three"} == command.variables


# -- YAML


def test_a_service_of_a_compose_file_has_a_command_and_an_environment():
    text = "services:\n  web:\n    environment:\n      A: b\n    command: gunicorn -k gevent app\n"
    (command,) = manifests.read(text, "compose.yml")
    assert (5, "gunicorn -k gevent app", "web") == (command.row, command.text, command.label)
    assert {"A": "b"} == command.variables


def test_a_container_of_kubernetes_has_a_command_and_arguments():
    text = (
        "kind: Deployment\nspec:\n  containers:\n  - name: worker\n    command: [celery]\n"
        "    args:\n    - worker\n    - -P\n    - gevent\n"
        "    env:\n    - name: A\n      value: b\n"
        "    livenessProbe:\n      exec:\n        command: [python, check.py]\n"
    )
    (command,) = manifests.read(text, "deployment.yaml")
    assert ("celery worker -P gevent", "worker") == (command.text, command.label)
    assert {"A": "b"} == command.variables


def test_a_command_of_several_commands_is_the_shells():
    (command,) = manifests.read("web:\n  command: one && two\n", "x.yml")
    assert ("sh", "-c", "one && two") == command.words


def test_a_template_is_read_around_its_holes():
    text = "{{- if .Values.on }}\ncommand: [gunicorn, '{{ .Values.app }}']\n{{- end }}\n"
    assert [(2, "gunicorn $x")] == texts(manifests.read(text, "x.yaml"))


def test_aliases_that_make_a_circle_end():
    assert [] == manifests.read("a: &a\n  b: *a\n", "x.yml")


def test_what_is_no_yaml_says_where():
    with pytest.raises(UnreadableError) as caught:
        manifests.read('a: "b\n', "x.yml")
    assert 2 == caught.value.row


# -- sections


def test_a_unit_starts_its_service():
    text = (
        '[Unit]\nAfter=x\n[Service]\nEnvironment="A=b" C=d\nExecStart=-/opt/bin/gunicorn \\\n app\n'
    )
    (command,) = units.read(text, "web.service")
    assert ("/opt/bin/gunicorn app", 5) == (command.text, command.row)
    assert {"A": "b", "C": "d"} == command.variables


def test_supervisor_starts_its_programs():
    text = '[program:web]\nenvironment=A="b",C=d\ncommand=%(ENV_HOME)s/gunicorn app ; comment\n'
    (command,) = units.read(text, "supervisord.conf")
    assert ("$HOME/gunicorn", "app") == command.words[:2]
    assert ("web", {"A": "b", "C": "d"}) == (command.label, command.variables)


def test_both_branches_of_a_template_are_commands():
    text = (
        "[program:a]\ncommand={% if x -%}\n  one\n{% else -%}\n  two {{ y }}\n{% endif -%}\nz = 1\n"
    )
    assert ["one", "two $x"] == [c.text for c in units.read(text, "x.conf.j2")]


def test_circus_starts_its_watchers():
    text = "[watcher:web]\ncmd = gunicorn\nargs = -k gevent app\n"
    assert [(2, "gunicorn -k gevent app")] == texts(units.read(text, "circus.ini"))


def test_the_settings_of_uwsgi_are_a_command_line():
    text = "[uwsgi]\nmodule = app:app\ngevent = 100\nmaster = true\n"
    (command,) = units.read(text, "uwsgi.ini")
    assert "uwsgi --module=app:app --gevent=100 --master" == command.text
    assert ("gevent", "100", 3) == command.options[1]


# -- packaging


def test_setup_py_declares_entry_points():
    text = (
        "setup(\n  scripts=['bin/one'],\n  entry_points={'console_scripts': [\n"
        "    'two = pkg.mod:main',\n  ], 'other': ['three = pkg.other:x']})\n"
    )
    assert [("two", "pkg.mod", 4), ("one", "", 2)] == [
        (point.name, point.module, point.row)
        for point in packaging.points_of_setup(text, "setup.py")
    ]


def test_setup_cfg_declares_entry_points():
    text = "[options.entry_points]\nconsole_scripts =\n    one = pkg:main\n[x]\ntwo = pkg:no\n"
    assert [("one", 3)] == [
        (point.name, point.row) for point in packaging.points_of_setup(text, "setup.cfg")
    ]


def test_pyproject_declares_entry_points_and_commands():
    text = (
        '[project.scripts]\none = "pkg.mod:main"\n'
        '[tool.poe.tasks]\nserve = "gunicorn -k gevent app"\n'
    )
    points, commands = packaging.read_toml(text, "pyproject.toml")
    assert [("one", "pkg.mod", 2)] == [(p.name, p.module, p.row) for p in points]
    assert [(4, "gunicorn -k gevent app")] == texts(commands)


# -- a repository


def test_a_broken_file_gives_a_note_and_no_error():
    deployment = Deployment(str(BROKEN))
    assert {
        "Dockerfile",
        "Procfile",
        "docker-compose.yml",
        "pyproject.toml",
        "start.sh",
        "supervisord.conf",
        "worker.conf",
    } == {Path(note.filename).name for note in deployment.notes}
    assert all(note.message for note in deployment.notes)


def test_what_is_excluded_or_ignored_is_not_read(tree):
    root = tree(
        {
            ".gitignore": "local/\n",
            "local/Procfile": "a: gunicorn a\n",
            "old/Procfile": "b: gunicorn b\n",
            "node_modules/Procfile": "c: gunicorn c\n",
            "Procfile": "d: gunicorn d\n",
        }
    )
    deployment = Deployment(str(root), ("old",))
    assert ["gunicorn d"] == [command.text for command in deployment.commands]


def test_a_large_file_is_left_out_with_a_note(tree):
    root = tree({"Procfile": "web: gunicorn app\n" + "#" * 1_000_001})
    deployment = Deployment(str(root))
    assert [] == deployment.commands
    assert ["is too large to start a process"] == [note.message for note in deployment.notes]


def test_a_service_without_a_command_starts_what_its_image_starts(tree):
    root = tree(
        {
            "docker-compose.yml": "services:\n  web:\n    build: ./web\n",
            "web/Dockerfile": 'FROM python\nENTRYPOINT ["gunicorn"]\nCMD ["app:app"]\n',
        }
    )
    found = {Path(c.filename).name: c.text for c in Deployment(str(root)).commands}
    assert {"docker-compose.yml": "gunicorn app:app", "Dockerfile": "gunicorn app:app"} == found


def test_a_path_inside_a_container_is_found_by_its_end(tree):
    root = tree({"a/conf/gunicorn.py": "", "b/other/gunicorn.py": "", "a/b/run.py": ""})
    found = Deployment(str(root)).tree
    assert str(root / "a/conf/gunicorn.py") == found.find("/srv/conf/gunicorn.py", str(root))
    assert str(root / "a/b/run.py") == found.find("$HOME/run.py", str(root))
    assert None is found.find("/srv/gunicorn.py", str(root))
    assert None is found.find("/usr/bin/run.py", str(root))


NAMES = [
    "Procfile",
    "Dockerfile",
    "docker-compose.yml",
    "run.sh",
    "Makefile",
    "pyproject.toml",
    "setup.py",
    "supervisord.conf",
    "uwsgi.ini",
    "uwsgi.xml",
    "web.service.j2",
]
STARTS = ["", "command: ", "CMD ", "[program:x]\ncommand=", "[uwsgi]\n", "a:\n\t", "ENTRYPOINT ["]


@settings(deadline=None, max_examples=examples(150))
@given(
    st.sampled_from(NAMES),
    st.sampled_from(STARTS),
    st.text(max_size=80) | st.binary(max_size=80),
)
def test_no_file_raises(tmp_path_factory, name, start, rest):
    root = tmp_path_factory.mktemp("broken")
    data = rest if isinstance(rest, bytes) else rest.encode(errors="surrogatepass")
    (root / name).write_bytes(start.encode() + data)
    Deployment(str(root))


# -- broken files

ENTIRE = {
    "docker-compose.yml": "services:\n  web:\n    env_file: [a.env]\n    build: .\n"
    "    command: ['gunicorn', '-k', '${KIND:-gevent}', 'app:app']\n",
    "pod.yaml": "kind: Deployment\nspec:\n  containers:\n  - name: {{ .Values.name }}\n"
    "    {{- if .Values.on }}\n    command: [gunicorn, $(KIND)]\n    {{- end }}\n"
    "    envFrom:\n    - configMapRef: {name: web}\n---\nkind: ConfigMap\n"
    "metadata: {name: web}\ndata: {KIND: gevent}\n",
    "kustomization.yaml": "configMapGenerator:\n- name: web\n  envs: [a.env]\n"
    "  literals: [KIND=gevent]\n",
    "values.yaml": "name: web\ncommand: x\n",
    "pyproject.toml": '[project.scripts]\none = "app:main"\n[tool.poe.tasks]\nrun = "gunicorn a"\n',
    "uwsgi.ini": "[uwsgi]\nmodule = app:app\nbase = %(base)\nattach-daemon2 = cmd=celery,x\n",
    "uwsgi.xml": "<uwsgi><module>app</module><gevent>9</gevent><master/></uwsgi>\n",
    "web.service": "[Service]\nEnvironmentFile=a.env\nWorkingDirectory=/srv/app\n"
    "ExecStart=/bin/sh -c 'gunicorn app'\n",
    "run.sh": '#!/bin/sh\ncd /srv/app && exec gunicorn -k ${KIND:-gevent} "$@" <<EOF\nx\nEOF\n',
    "Dockerfile": 'FROM a AS b\nWORKDIR /srv\nENV A=1 B="x"\n'
    'ENTRYPOINT ["sh", "-c", "gunicorn a"]\n',
    "app.json": '{"scripts": {"web": "gunicorn app"}}\n',
    "a.env": "export KIND='gevent' # x\n",
    "Makefile": "A = b\nrun:\n\tgunicorn $(A) \\\n\t  app\n",
}


@settings(deadline=None, max_examples=examples(300))
@given(
    st.sampled_from(sorted(ENTIRE)),
    st.lists(
        st.tuples(
            st.integers(0, 400),
            st.integers(0, 12),
            st.binary(max_size=4)
            | st.sampled_from(
                [b"{{", b"}}", b"{%", b"'", b'"', b"&a *a", b"\t", b"\\", b"[", b"<", b"$(", b"${"]
            ),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_no_broken_file_stops_the_others(tmp_path_factory, name, changes):
    root = tmp_path_factory.mktemp("broken")
    for other, text in ENTIRE.items():
        (root / other).write_text(text, encoding="utf-8")
    data = ENTIRE[name].encode()
    for place, removed, added in changes:
        place %= len(data) + 1
        data = data[:place] + added + data[place + removed :]
    (root / name).write_bytes(data)
    (root / "Procfile").write_text("web: gunicorn whole\n", encoding="utf-8")
    found = Deployment(str(root))
    assert "gunicorn whole" in [command.text for command in found.commands]
    assert {Path(note.filename).name for note in found.notes} <= {name}


def test_what_is_binary_or_a_circle_of_links_is_left_out(tree):
    root = tree({"Procfile": "web: gunicorn app\n", "docker-compose.yml": "command: x\0y\n"})
    (root / "loop").symlink_to(root / "loop")
    (root / "again").symlink_to(root, target_is_directory=True)
    (root / "Dockerfile").symlink_to(root / "nowhere")
    (root / "run.sh").write_bytes(bytes(range(256)))
    found = Deployment(str(root))
    assert ["gunicorn app"] == [command.text for command in found.commands]
    assert {"docker-compose.yml", "run.sh"} == {Path(n.filename).name for n in found.notes}


def test_a_bomb_of_aliases_ends(tree):
    rows = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    root = tree({"x.yml": "\n".join(rows) + "\ncommand: gunicorn app\n"})
    assert ["gunicorn app"] == [command.text for command in Deployment(str(root)).commands]


def test_a_chart_whose_values_are_broken_is_read_without_them(tree):
    root = tree(
        {"values.yaml": 'a: "x\n', "templates/a.yaml": "command: [gunicorn, {{ .Values.a }}]"}
    )
    assert ["gunicorn $x"] == [command.text for command in Deployment(str(root)).commands]


# -- the table of formats

READERS = Path(deployment.__file__).parent
"""The directory of the readers."""


def test_every_reader_is_in_the_table_of_formats():
    readers = {path.stem for path in READERS.glob("*.py") if "\nEXAMPLE = " in path.read_text()}

    assert readers == {one.reader for one in formats.FORMATS}


@pytest.mark.parametrize("reader", sorted({one.reader for one in formats.FORMATS}))
def test_the_example_of_a_format_is_found_and_read(tmp_path, reader):
    module = importlib.import_module(f"{deployment.__name__}.{reader}")
    name, text = module.EXAMPLE
    (tmp_path / name).write_text(text)

    assert formats.mention(Tree(str(tmp_path)), (b"gevent",))
    assert any("gevent" in command.text for command in Deployment(str(tmp_path)).commands)


@pytest.mark.parametrize("form", formats.FORMATS)
def test_a_reader_understands_whatever_its_format_lets_through(form):
    module = importlib.import_module(f"{deployment.__name__}.{form.reader}")

    assert module.read("", "anything") == []


@pytest.mark.parametrize("reader", sorted({one.reader for one in formats.FORMATS}))
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_a_reader_survives_a_damaged_file(reader, data):
    module = importlib.import_module(f"{deployment.__name__}.{reader}")
    name, text = module.EXAMPLE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 6)))
        put = data.draw(st.text("{}[]()\"'`\\$%^=:,;#/<\n \tab", max_size=4))
        text = text[:start] + put + text[end:]

    with suppress(UnreadableError):
        for fact in module.read(text, name):
            assert fact.row <= text.count("\n") + 1


def test_a_row_below_a_key_without_a_value_is_no_settings_file():
    assert PasteSettings("[server:main]\nuse\n  egg:gunicorn\n").server() == {}


def test_a_file_that_only_looks_like_a_format_is_not_read(tmp_path):
    (tmp_path / "notes.yaml").write_text("title: gevent\n")
    (tmp_path / "Dockerfile.dockerignore").write_text("CMD gunicorn\n")
    (tmp_path / "LICENSE").write_text("web: gunicorn\n")

    assert [] == Deployment(str(tmp_path)).commands


# -- what is broken is said

BROKEN_FILES = {
    "a Procfile": ("Procfile", "web: gunicorn 'app\nworker: celery worker\n", "quote", 1),
    "a Makefile": ("Makefile", 'run:\n\tgunicorn "app\n', "quote", 2),
    "a justfile": ("justfile", 'run:\n  gunicorn "app\n', "quote", 2),
    "a script": ("run.sh", "set -e\ngunicorn 'app\n", "quote", 2),
    "a shell's CMD": ("Dockerfile", "FROM x\nCMD gunicorn 'app\n", "quote", 2),
    "a list with single quotes": ("Dockerfile", "FROM x\nCMD ['gunicorn', 'app']\n", "JSON", 2),
    "a list without an end": ("Dockerfile", 'FROM x\nENTRYPOINT ["gunicorn", "app"\n', "JSON", 2),
    "a comma too many": ("Dockerfile", 'FROM x\nCMD ["gunicorn", "app",]\n', "JSON", 2),
    "a compose file": ("compose.yml", "services:\n web:\n  command: gunicorn 'app\n", "quote", 3),
    "uwsgi.ini": ("uwsgi.ini", "[uwsgi\nmodule = app\n", "section", 1),
    "a line of uwsgi.ini": ("uwsgi.ini", "[uwsgi]\nmodule = app\n= 5\n", "section", 3),
    "a unit": ("web.service", "[Service\nExecStart=gunicorn app\n", "section", 1),
    "a unit's command": ("web.service", "[Service]\nExecStart=gunicorn 'app\n", "quote", 2),
    "setup.cfg": ("setup.cfg", "[metadata]\nname = x\n[options\nzip_safe = 1\n", "section", 3),
    "a task": ("pyproject.toml", '[tool.poe.tasks]\nrun = "gunicorn \'app"\n', "quote", 2),
}


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_what_is_broken_is_noted_with_its_row(tree, case):
    name, text, word, row = BROKEN_FILES[case]
    root = tree({name: text})
    (note,) = Deployment(str(root)).notes

    assert (str(root / name), row) == (note.filename, note.row)
    assert word in note.message


@pytest.mark.parametrize("amount", [1, 10, 11, 300])
def test_a_check_shows_the_first_of_many_broken_files(tree, amount):
    root = tree({"app.py": "import gevent\n", "gblock.toml": ""})
    tree({f"{n}/run.sh": "exec gunicorn 'app\n" for n in range(amount)})
    notes = check([str(root)], Config(root=str(root), filename=str(root / "gblock.toml"))).notes

    assert min(amount, 10) == sum(one.endswith("a quote is not closed") for one in notes)
    more = [one.partition(" ")[0] for one in notes if "gblock processes" in one]
    assert more == ([str(amount - 10)] if amount > 10 else [])


def test_a_command_that_begins_with_a_bracket_is_none(tree):
    root = tree({"Dockerfile": "FROM x\nCMD [ -f x ] && gunicorn app\n"})

    assert [] == Deployment(str(root)).notes


# -- PasteDeploy


def test_a_paste_file_names_all_that_an_application_is_made_of():
    found = PasteSettings(
        "[composite:main]\nuse = egg:Paste#urlmap\n/ = site\n/api = api\n"
        "[pipeline:site]\npipeline = gzip web\n"
        "[filter:gzip]\npaste.filter_factory = shop.filters:gzip\n"
        "[app:web]\nuse = call:shop.web:make\n"
        "[app:api]\nuse = base\n[app:base]\npaste.app_factory = shop.api:make\n"
        "[app:round]\nuse = round\n[server:main]\nuse = egg:gunicorn#main\n"
    )

    assert [
        "egg:Paste#urlmap",
        "shop.filters:gzip",
        "shop.web:make",
        "shop.api:make",
    ] == found.factories()
    assert [] == found.factories("round")
    assert [] == found.factories("missing")
    assert {"use": "egg:gunicorn#main"} == found.server()
    assert {} == found.server("other")


def test_a_broken_paste_file_describes_nothing():
    assert [] == PasteSettings("use = x\n[app").factories()


def test_a_repository_without_files_knows_nothing():
    assert {} == NONE.environment(".env", "compose.yml")
    assert {} == NONE.chart("x.yaml")
    assert None is NONE.image(".", "Dockerfile")


SERVE = '[project.scripts]\nserve = "shop.run:main"\n'


@pytest.mark.parametrize(
    ("command", "files", "expected"),
    [
        ("sudo eval 'gunicorn shop:app'", {}, [("gunicorn", "shop:app", "")]),
        ("serve --port 1", {"pyproject.toml": SERVE}, [("", "--port 1", "shop.run")]),
        ("/srv/bin/serve x", {"pyproject.toml": SERVE}, [("", "x", "shop.run")]),
        ("wait-for db serve x", {"pyproject.toml": SERVE}, [("", "x", "shop.run")]),
        ("bash -e run.sh", {"run.sh": "celery worker\n"}, [("celery", "worker", "")]),
        ("bash -e", {}, []),
        ("bash -c", {}, []),
        ("bash gone.sh", {}, []),
        ("bash notes.txt", {"notes.txt": "gunicorn shop:app\n"}, []),
        ("sh run.sh", {"run.sh": "#!/bin/sh\nsh run.sh\n"}, []),
        ("./run a", {"run": "#!/usr/bin/env python3\n"}, [("python", "a", "run")]),
        ("./run a", {"run": "gunicorn shop:app\n"}, []),
        ("./notes.txt gunicorn", {"notes.txt": "x\n"}, [("gunicorn", "", "")]),
        ("python -W error -u run.py a", {"run.py": ""}, [("python", "a", "run.py")]),
        ("python -mgunicorn shop:app", {}, [("gunicorn", "shop:app", "")]),
        ("python -m", {}, [("python", "-m ", "")]),
        ("python -c 'import shop'", {}, []),
        ("python gone.py", {}, []),
        ("python ${KIND}_server.py", {"web_server.py": ""}, [("python", "", "web_server.py")]),
        ("python -m huey.bin.huey_consumer shop", {}, [("huey_consumer", "shop", "")]),
        ("python -m coverage run -m gunicorn a:b", {}, [("gunicorn", "a:b", "")]),
        ("python -m coverage run -m shop.run a", {}, [("python", "-m shop.run a", "")]),
        ("python -m ddtrace.commands.ddtrace_run gunicorn a:b", {}, [("gunicorn", "a:b", "")]),
        ("python -m coverage report -m", {}, [("python", "-m ", "")]),
        ("python -m cProfile run.py", {"run.py": ""}, [("python", "", "run.py")]),
        ("env A=1 B=2", {}, []),
    ],
)  # fmt: skip
def test_a_command_leads_to_the_programs_that_it_runs(tree, command, files, expected):
    root = tree({**files, "Procfile": f"web: {command}\n"})
    found = Deployment(str(root))
    commands = [one for one in found.commands if one.label == "web"]

    assert expected == [
        (
            one.name,
            " ".join(one.arguments),
            one.point.module if one.point else os.path.relpath(one.path, root) if one.path else "",
        )
        for command in commands
        for one in Programs(found, CATALOG.worker_commands).of(command)
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Dockerfile", "FROM x\nRUN cat <<A <<B\nCMD a\nA\nCMD b\nB\nCMD c\n", ["sh -c c"]),
        ("Dockerfile", "CMD c\n", ["sh -c c"]),
        ("compose.yml", "services:\n  a:\n    build: [x]\n    command: run\n", ["run"]),
        ("compose.yml", "services:\n  a:\n    command: [a, {b: c}]\n", []),
        ("compose.yml", "services:\n  a:\n    command: run\n    environment: x\n", ["run"]),
        (
            "compose.yml",
            "services:\n  a:\n    command: run\n    environment: [[x], {name: n}]\n",
            ["run"],
        ),
        ("compose.yml", "services:\n  a:\n    command: ''\n    build: .\n", []),
        ("pyproject.toml", "[tool.locust]\nlocustfile = 'load.py'\n", ["locust -f load.py"]),
        (
            "pyproject.toml",
            "[tool.poe.tasks]\na = {cmd = 'run'}\nb = {shell = 'go'}\nc = 1\n",
            ["run", "go"],
        ),
        ("pyproject.toml", "[tool.hatch.envs.x.scripts]\na = 'run'\n", ["run"]),
        ("service.service", "[Service]\nExecStart=-run\nx\n", ["run"]),
        ("a.yaml", "configMapGenerator: x\ncommand: run\n", ["run"]),
        ("a.yaml", "configMapGenerator: {name: x}\ncommand: run\n", ["run"]),
        ("a.yaml", "configMapGenerator: [x, {envs: {a: b}}]\ncommand: run\n", ["run"]),
        ("a.yaml", "kind: ConfigMap\nmetadata: {name: [x]}\ndata: x\ncommand: run\n", ["run"]),
        ("a.yaml", "command: run\nenvFrom: [x, {configMapRef: x}]\nenv: {configMap: 1}\n", ["run"]),
        ("a.yaml", "command: run\nname: [x]\nimage: {a: b}\nworking_dir: [x]\n", ["run"]),
        ("a.yaml", "command: run\nenv_file: {path: [x]}\nenvironment: {a: [b]}\n", ["run"]),
        ("a.yaml", "command: run\nuwsgi: {[a]: b, module: {c: d}}\n", ["run", "uwsgi"]),
        ("a.yaml", "[a]: b\n? {c: d}\n: e\ncommand: run\n", ["run"]),
    ],
)
def test_a_file_of_any_form_has_these_commands(tree, name, text, expected):
    found = Deployment(str(tree({name: text})))

    assert (expected, []) == ([one.text for one in found.commands], found.notes)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "pyproject.toml",
            '[tool.poetry.scripts]\na = {callable = "m:f"}\nb = {reference = "n:f"}\nc = {x = 1}\n',
            ["a=m", "b=n"],
        ),
        ("pyproject.toml", '[tool.setuptools]\nscript-files = ["bin/run"]\n', ["run="]),
        ("pyproject.toml", '[project]\nentry-points = {x = "y"}\n', []),
        ("setup.py", 'setup(console_scripts="""\na = m:f\n""")\n', ["a=m"]),
        (
            "setup.py",
            'setup(entry_points={"console_scripts": ["a = m:f"], "x": ["b=n:f"]})\n',
            ["a=m"],
        ),
    ],
)
def test_a_project_declares_these_scripts(tree, name, text, expected):
    found = Deployment(str(tree({name: text})))

    assert expected == [f"{one.name}={one.module}" for one in found.points]
