"""`gblock server` in a real Neovim without a screen, configured as docs/editor.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_server import HASHING, text

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "editor.md"


def version(neovim):
    found = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True)
    return tuple(map(int, re.search(r"v(\d+)\.(\d+)", found.stdout).groups()))


@pytest.mark.live
def test_neovim_shows_diagnostics_and_applies_an_action(tmp_path):
    neovim = shutil.which("nvim")
    if neovim is None:
        pytest.skip("there is no Neovim")
    older, newer = re.findall(
        r"^```lua\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "init.lua").write_text(
        newer if version(neovim) >= (0, 11) else older, encoding="utf-8"
    )
    service = tmp_path / "service"
    service.mkdir()
    (service / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    (service / "Procfile").write_text("web: gunicorn -k gevent app:app\n", encoding="utf-8")
    app = service / "app.py"
    app.write_text(text(HASHING), encoding="utf-8")
    run = subprocess.run(
        [neovim, "--headless", "-n", "-u", tmp_path / "init.lua", "-S", HERE / "neovim.lua"],
        env={
            **os.environ,
            "GBLOCK_FILE": str(app),
            "HOME": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_STATE_HOME": str(tmp_path),
        },
        cwd=service,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert 0 == run.returncode, run.stdout + run.stderr
    message = '`bcrypt.hashpw(b"x", b"y")` computes, and the hub stands still until it returns'
    assert run.stdout.splitlines() == [
        f"10:12 cpu-bound-call: {message}",
        f"11:12 cpu-bound-call: {message}",
        "action: Calls the function in the hub's threadpool; gevent also prints what it raises "
        "(unsafe)",
        "action: Suppress cpu-bound-call with # gblock: ignore[cpu-bound-call]",
        '    return bcrypt.hashpw(b"x", b"y")  # gblock: ignore[cpu-bound-call]',
        "nothing is left",
    ]
