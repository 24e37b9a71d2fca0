"""Virtual environments for the packages that scenarios require."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv

from gblock.errors import UserError

from .measuring import Environment


class Environments:
    """An environment for each set of distributions: what some require others cannot bear.

    Args:
        directory: Where they are, or will be.
        say: Prints a line of progress.
    """

    def __init__(self, directory, say):
        self.directory = directory
        self._say = say
        self._known = {}

    def of(self, scenario):
        """The environment of a scenario, created if it is missing.

        Raises:
            UserError: if there can be no such environment.
        """
        name = _name(scenario.requires)
        if name not in self._known:
            self._known[name] = self._prepared(name, scenario.requires)
        return self._known[name]

    def _prepared(self, name, requires):
        directory = os.path.join(self.directory, name)
        python = os.path.join(directory, "bin", "python")
        if not os.path.exists(python):
            self._say(f"creating {directory}")
            venv.create(directory, with_pip=True)
            reason = _installed(python, ["gevent", "setuptools", "psycogreen"])
            if reason:
                raise UserError(directory, f"gevent cannot be installed: {reason}")
        environment = Environment(python)
        lacking = [one for one in requires if not environment.has(one)]
        if lacking:
            self._say(f"installing {', '.join(lacking)}")
            reason = _installed(python, lacking)
            if reason:
                self._say(f"{', '.join(lacking)} cannot be installed: {reason}")
        return Environment(python)


def _name(requires):
    """A directory's name for some requirements."""
    text = "+".join(sorted(requires)) or "python"
    return re.sub(r"[^\w.+-]", "_", text)


def here():
    """This very Python."""
    return Environment(sys.executable)


def _installed(python, requirements):
    """Install; gives the reason where that fails."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
    if not run.returncode:
        return ""
    errors = [line for line in run.stderr.splitlines() if "rror" in line]
    return (errors or ["pip failed"])[-1].strip()
