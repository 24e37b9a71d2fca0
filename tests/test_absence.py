"""Code that runs only where gevent cannot be imported."""

from __future__ import annotations

import textwrap

import pytest
from harness import check

from gblock.config import Config

COMPAT = """\
try:
    import gevent
    HAS_GEVENT = True
except ImportError:
    gevent = None
    HAS_GEVENT = False
"""
TRY = "try:\n    {0}\nexcept {1}:\n    {2}\n"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("from compat import gevent\nif gevent is None:\n    os.wait()\n", 0),
        ("from compat import gevent\nif gevent is not None:\n    pass\nelse:\n    os.wait()\n", 0),
        ("from compat import gevent as green\nif not green:\n    os.wait()\n", 0),
        ("from compat import HAS_GEVENT\nif not HAS_GEVENT:\n    os.wait()\n", 0),
        ("from compat import HAS_GEVENT as GREEN\nif GREEN:\n    x = 1\nelse:\n    os.wait()\n", 0),
        (TRY.format("import gevent", "ImportError", "os.wait()"), 0),
        (TRY.format("from gevent import sleep", "(ImportError, OSError)", "os.wait()"), 0),
        (TRY.format("import gevent.queue as q", "ModuleNotFoundError", "os.wait()"), 0),
        (TRY.format("import gevent", "ImportError", "ok = 0") + "if not ok:\n    os.wait()\n", 0),
        ("from compat import gevent\nif gevent is None:\n    pass\nelse:\n    os.wait()\n", 1),
        ("from compat import gevent\nif gevent:\n    os.wait()\n", 1),
        ("from compat import HAS_GEVENT\nif HAS_GEVENT:\n    os.wait()\n", 1),
        ("from compat import HAS_GEVENT\nif not HAS_GEVENT or x:\n    os.wait()\n", 1),
        (TRY.format("import gevent, ujson", "ImportError", "os.wait()"), 1),
        (TRY.format("import gevent", "RuntimeError", "os.wait()"), 1),
        (TRY.format("import ujson", "ImportError", "os.wait()"), 1),
        ("USE = object()\nif USE is None:\n    os.wait()\n", 1),
    ],
)
def test_a_block_that_runs_only_without_gevent(tree, code, count):
    body = textwrap.indent(code, "    ")
    root = tree(
        {
            "compat.py": COMPAT,
            "shop.py": "from gevent import monkey; monkey.patch_all()\n"
            f"import gevent.pool\nimport os\n\ndef serve(x=1):\n{body}\n"
            "gevent.pool.Pool(2).map(serve, [1, 2])\n",
        }
    )
    config = Config(root=str(root), filename=str(root / "gblock.toml"))
    found = [one for one in check([str(root)], config).diagnostics if one.blocker == "os-wait"]
    assert count == len(found)
