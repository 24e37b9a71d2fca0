"""Code that runs once the program ends."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config


@pytest.mark.parametrize(
    ("handler", "count"),
    [
        ("except KeyboardInterrupt:\n    os.wait()\n", 0),
        ("except SystemExit as end:\n    os.wait()\n    raise\n", 0),
        ("except (KeyboardInterrupt, SystemExit):\n    os.wait()\n", 0),
        ("except (KeyboardInterrupt,\n        SystemExit):\n    os.wait()\n", 0),
        ("except KeyboardInterrupt:\n    stop()\n", 0),
        ("except KeyboardInterrupt:\n    if failed:\n        stop()\n", 0),
        ("except (KeyboardInterrupt, ValueError):\n    os.wait()\n", 1),
        ("except ValueError:\n    os.wait()\n", 1),
        ("except:\n    os.wait()\n", 1),
        ("except ():\n    os.wait()\n", 1),
        ("except KeyboardInterrupt:\n    raise\nelse:\n    os.wait()\n", 1),
        ("except KeyboardInterrupt:\n    pass\nfinally:\n    stop()\n", 1),
        ("except KeyboardInterrupt:\n    stop()\nstop()\n", 1),
    ],
)
def test_what_a_program_does_once_it_is_interrupted_delays_no_greenlet(tmp_path, handler, count):
    code = textwrap.indent(f"try:\n    gevent.sleep(1)\n{handler}", "    ")
    text = (
        "from gevent import monkey; monkey.patch_all()\nimport gevent, os\n"
        f"def run(failed):\n{code}\ngevent.spawn(run, 1)\ngevent.wait()\n"
    )
    if "stop()" in handler:
        text = text.replace("def run", "def stop(): os.wait()\ndef run")
    (tmp_path / "main.py").write_text(text, encoding="utf-8")
    report = check([str(tmp_path)], Config(root=str(tmp_path)), assume_gevent=False)
    found = [one.code for one in report.diagnostics]
    assert ["blocking-call"] * count == found
