"""Adoption by a team: ``gblock init``, the action, the snippets of the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import gblock
from gblock import config
from gblock.cli import main
from gblock.commandline import setup

ROOT = Path(gblock.__file__).parents[1]
BAD = 'import os, gevent\nos.system("sync")\n'
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


class TestInit:
    def test_an_old_project_is_clean_afterwards_and_new_calls_are_reported(self, tree, capsys):
        root = tree(
            {"src/a.py": BAD, "vendor/b.py": BAD, "pyproject.toml": "[project]\nname='x'\n"}
        )
        assert main(["init"]) == 0
        out, err = capsys.readouterr()
        assert out.splitlines() == [
            "pyproject.toml: [tool.gblock] written",
            ".pre-commit-config.yaml: written",
            ".github/workflows/gblock.yml: written",
            "gblock-baseline.json: 1 diagnostic to hide for now",
        ]
        assert err == "Nothing to report; 1 baselined. 1 file checked.\n"
        assert main(["check", "."]) == 0
        (root / "src" / "a.py").write_text(BAD + BAD)
        assert main(["check", "-q", "."]) == 1
        found = config.find(".")
        assert found.exclude == ("vendor/",)
        assert found.src == (f"{root}/src",)
        assert (root / "pyproject.toml").read_text().startswith("[project]\nname='x'\n\n[tool.gb")

    def test_what_it_writes_is_understood_by_those_who_read_it(self, tree, capsys):
        root = tree({"a.py": BAD})
        assert main(["init"]) == 0
        hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())
        assert hooks["repos"][0]["hooks"] == [{"id": "gblock"}]
        workflow = yaml.safe_load((root / ".github/workflows/gblock.yml").read_text())
        steps = workflow["jobs"]["gblock"]["steps"]
        (check,) = [step["run"] for step in steps if "gblock check" in step.get("run", "")]
        assert main(check.split()[1:]) == 0
        assert json.loads((root / "gblock.sarif").read_text())["version"] == "2.1.0"
        assert (root / "gblock.toml").exists()
        capsys.readouterr()

    def test_what_is_there_is_left_alone_without_force(self, tree, capsys):
        files = {
            "a.py": BAD,
            "pyproject.toml": "[tool.gblock]\nignore = ['os-system']\n\n[tool.x]\ny = 1\n",
            ".pre-commit-config.yaml": "repos:\n- repo: local\n  hooks: [{id: gblock}]\n",
            ".github/workflows/gblock.yml": "mine\n",
            "gblock-baseline.json": '{"version": 1, "diagnostics": []}\n',
        }
        root = tree(files)
        assert main(["init"]) == 0
        assert {name: (root / name).read_text() for name in files} == files
        assert capsys.readouterr().out.count("already") == 4
        assert main(["init", "--force"]) == 0
        text = (root / "pyproject.toml").read_text()
        assert text.endswith("[tool.x]\ny = 1\n")
        assert "ignore" not in text
        assert "mine" not in (root / ".github/workflows/gblock.yml").read_text()
        assert config.find(".").baseline == f"{root}/gblock-baseline.json"
        capsys.readouterr()

    def test_a_second_run_changes_nothing(self, tree, capsys):
        root = tree({"a.py": BAD, "pyproject.toml": ""})
        main(["init"])
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        main(["init"])
        after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        assert before == after
        capsys.readouterr()

    @pytest.mark.parametrize("indent", ["", "  ", "    "])
    def test_a_hook_is_added_to_others(self, tree, capsys, indent):
        lines = ["- repo: local", "  hooks:", "    - id: x"]
        text = "\n".join(["repos:", *(indent + line for line in lines), "ci: {}", ""])
        root = tree({"a.py": "", ".pre-commit-config.yaml": text})
        assert main(["init"]) == 0
        read = yaml.safe_load((root / ".pre-commit-config.yaml").read_text())
        assert [repo["hooks"][0]["id"] for repo in read["repos"]] == ["gblock", "x"]
        assert read["ci"] == {}
        capsys.readouterr()

    @pytest.mark.parametrize("text", ["repos: []\n", "", "repos: [{repo: local, hooks: []}]\n"])
    def test_hooks_of_another_style_are_left_alone(self, tree, capsys, text):
        root = tree({"a.py": "", ".pre-commit-config.yaml": text})
        assert main(["init"]) == 0
        assert (root / ".pre-commit-config.yaml").read_text() == text
        assert "has no `repos` list; add:\n  - repo: " in capsys.readouterr().out

    def test_a_pipeline_of_gitlab_is_for_its_owner_to_change(self, tree, capsys):
        root = tree({"a.py": "", ".gitlab-ci.yml": "test:\n  script: [x]\n"})
        assert main(["init"]) == 0
        assert setup.GITLAB in capsys.readouterr().out
        assert not (root / ".github").exists()
        (root / ".gitlab-ci.yml").write_text(setup.GITLAB)
        assert main(["init"]) == 0
        assert ".gitlab-ci.yml: has gblock already" in capsys.readouterr().out

    def test_what_cannot_be_done_is_one_line(self, tree, capsys):
        tree({"a.py": "", ".github": "", "b/pyproject.toml": b"\xff", "b/c.py": ""})
        assert main(["init", "nowhere"]) == 2
        assert "not a directory" in capsys.readouterr().err
        assert main(["init"]) == 2
        assert "cannot be written: Not a directory" in capsys.readouterr().err
        assert main(["init", "b"]) == 2
        assert "it is not UTF-8" in capsys.readouterr().err


class TestAction:
    """The steps of action.yml, run as a runner runs them."""

    ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

    def run(self, directory, step, inputs):
        values = {name: one["default"] for name, one in self.ACTION["inputs"].items()} | inputs
        env = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(directory / "temp")}
        for name, value in step["env"].items():
            for key, text in values.items():
                value = value.replace(f"${{{{ inputs.{key} }}}}", text)
            env[name] = value.replace("${{ github.action_path }}", str(ROOT))
        assert not [value for value in env.values() if "${{" in value]
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=directory,
            env=env,
            capture_output=True,
            text=True,
        )

    def steps(self, directory):
        """The steps, with this gblock where the first one installs it."""
        install, check = self.ACTION["runs"]["steps"]
        program = directory / "temp" / "gblock" / "bin" / "gblock"
        program.parent.mkdir(parents=True)
        text = f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        program.write_text(f"{text}from gblock.cli import main\nsys.exit(main())\n")
        program.chmod(0o755)
        return install, check

    @pytest.mark.parametrize(
        ("inputs", "code", "out"),
        [
            ({"paths": "clean.py"}, 0, ""),
            ({"paths": "src clean.py"}, 1, "::warning file=src/a.py,line=2,"),
            pytest.param(
                {"paths": "src", "args": "--exit-zero --select ALL"},
                0,
                "::warning file=src/a.py",
                marks=pytest.mark.live,
            ),
            pytest.param(
                {"paths": "src", "sarif-file": "x y.sarif"},
                1,
                "::warning file=src/a.py",
                marks=pytest.mark.live,
            ),
            ({"paths": "$(touch hacked) `touch hacked`"}, 2, ""),
        ],
    )
    def test_the_check_reports_and_writes_sarif(self, tree, inputs, code, out):
        root = tree({"src/a.py": BAD, "clean.py": "x = 1\n"})
        _, check = self.steps(root)
        run = self.run(root, check, inputs)
        assert (run.returncode, run.stdout[: len(out)]) == (code, out), run.stderr
        assert not (root / "hacked").exists()
        log = json.loads((root / inputs.get("sarif-file", "gblock.sarif")).read_text())
        assert bool(log["runs"][0]["results"]) == bool(out)

    def test_what_is_installed_is_the_version_or_the_action_itself(self, tree):
        root = tree({})
        install, _ = self.steps(root)
        fake = root / "bin" / "python"
        fake.parent.mkdir()
        fake.write_text('#!/bin/sh\ncase "$1" in -m) [ "$2" = venv ] && exit 0;; esac\n')
        fake.chmod(0o755)
        pip = root / "temp" / "gblock" / "bin" / "python"
        pip.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        pip.chmod(0o755)
        for inputs, expected in (({}, str(ROOT)), ({"version": "==1.0"}, "gblock==1.0")):
            step = {**install, "run": f'PATH="{fake.parent}:$PATH"\n{install["run"]}'}
            run = self.run(root, step, inputs)
            assert run.stdout.splitlines()[-1] == expected, run.stderr


class TestPage:
    def test_the_snippet_of_gitlab_is_what_init_prints(self):
        assert f"<!-- gitlab -->\n```yaml\n{setup.GITLAB}```\n" in PAGE
        (job,) = yaml.safe_load(setup.GITLAB).values()
        assert job["artifacts"]["reports"]["codequality"] in job["script"][-1]

    def test_the_commands_of_the_snippets_run(self, tree, capsys):
        tree({"a.py": "x = 1\n", "src/b.py": "x = 1\n"})
        commands = [
            line.strip("-` ")
            for line in (*setup.GITLAB.splitlines(), *PAGE.splitlines())
            if line.strip("-` ").startswith("gblock check")
        ]
        assert len(commands) >= 3
        for command in commands:
            assert main(command.split()[1:]) == 0, command
        assert json.loads(Path("gblock.json").read_text()) == []
        capsys.readouterr()

    def test_the_sessions_of_nox_and_tox_are_valid(self):
        import ast
        import configparser

        python = PAGE.split("```python\n")[1].split("```")[0]
        calls = [
            ast.unparse(node) for node in ast.walk(ast.parse(python)) if isinstance(node, ast.Call)
        ]
        assert "session.run('gblock', 'check', 'src')" in calls
        tox = configparser.ConfigParser()
        tox.read_string(PAGE.split("```ini\n")[1].split("```")[0])
        assert tox["testenv:gblock"]["commands"] == "gblock check src"
