"""A virtual environment for the packages that scenarios require."""

from __future__ import annotations

import os
import subprocess
import sys
import venv

from gblock.errors import UserError

from .measuring import Environment


def prepared(directory, scenarios, say):
    """Create the environment if it is missing, and install what is missing in it.

    Args:
        directory: Where it is, or will be.
        scenarios: What is going to be run.
        say: Takes a line for whoever waits.

    Raises:
        UserError: if there can be no such environment.
    """
    python = os.path.join(directory, "bin", "python")
    if not os.path.exists(python):
        say(f"creating {directory}")
        venv.create(directory, with_pip=True)
        reason = _installed(python, ["gevent", "setuptools", "psycogreen"])
        if reason:
            raise UserError(directory, f"gevent cannot be installed: {reason}")
    environment = Environment(python)
    for requires in sorted({one.requires for one in scenarios if one.requires}):
        lacking = [name for name in requires if not environment.has(name)]
        if lacking:
            say(f"installing {', '.join(lacking)}")
            # One at a time: what cannot be had must not stop the others.
            reason = _installed(python, lacking)
            if reason:
                say(f"{', '.join(lacking)} cannot be installed: {reason}")
    return Environment(python)


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
