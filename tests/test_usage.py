"""Code that nothing in a service uses, and what may use it in a way that is not seen.

A call in dead code is a note; a call in a public function of a library keeps its severity.
"""

from __future__ import annotations

import pytest
from test_contexts import reported

SERVICE = {
    "Procfile": "web: gunicorn -k gevent app:app\n",
    "app.py": """
        from store import Store
        store = Store()

        def app(environ, start_response):
            store.load()
        """,
    "store.py": """
        class Store:
            def load(self): pass

            def rebuild(self): CALL
        """,
}
SERVICE |= {f"part_{number}.py": "NUMBER = 1\n" for number in range(6)}  # no sketch
CALLED = "class Store:\n    def load(self): pass\n\n    def rebuild(self): CALL\n"
DEAD = {
    "a method": {},
    "a method of the same name that a test calls": {
        "tests/test_store.py": "from store import Store\ndef test(): Store().rebuild()\n"
    },
    "documentation": {"README.md": "Call `rebuild` by hand.\n"},
    "a function": {"store.py": f"{CALLED.replace('rebuild', 'other')}\ndef rebuild(): CALL\n"},
    "a static method": {
        "store.py": CALLED.replace("    def rebuild(self)", "    @staticmethod\n    def rebuild()")
    },
    "what it wraps": {
        "store.py": f"import shelf\n{CALLED.replace('CALL', 'shelf.rebuild(); CALL')}",
    },
    "a docstring": {"store.py": f'''"""Run rebuild by hand."""\n{CALLED}'''},
    "a set-up": {"setup.py": "from setuptools import setup\nsetup(name='shop')\n"},
}
USED = {
    "another file": {"other.py": "def run(store): store.rebuild()\n"},
    "a string": {"other.py": "COMMANDS = ['rebuild']\n"},
    "the same file": {"store.py": f"{CALLED}\nCOMMANDS = (Store.rebuild,)\n"},
    "between long texts": {
        "store.py": f'QUERY = """\nSELECT 1\n"""\n{CALLED}\nX = Store.rebuild\nEND = """\n"""\n'
    },
    "after a quote in a text": {
        "store.py": f"""QUOTE = '\"\"\"'\n{CALLED}\nALL = (Store.rebuild,)\n'\"\"\"'\n"""
    },
    "a template": {"templates/page.html": "{{ store.rebuild() }}\n"},
    "a setting": {"jobs.yaml": "- run: store.rebuild\n"},
    "a script": {"bin/nightly": "#!/bin/sh\ncurl http://shop/rebuild\n"},
    "a decorator": {"store.py": CALLED.replace("    def rebuild", "    @exposed\n    def rebuild")},
    "a base outside": {
        "store.py": "from shelf import Base\n" + CALLED.replace("Store:", "Store(Base):")
    },
    "a special method": {"store.py": CALLED.replace("rebuild(self)", "__getitem__(self, key)")},
    "the names for others": {"store.py": f"{CALLED}\n__all__ = ['Store', 'rebuild']\n"},
    "a library": {
        "setup.py": "from setuptools import setup\nsetup(classifiers=['Topic :: Database'])\n"
    },
    "a server of any application": {"Procfile": "web: gunicorn -k gevent $APP\n"},
    "no server": {"Procfile": ""},
    "a module that no server imports": {"app.py": "def app(environ, start_response): pass\n"},
}


def severities(tmp_path, files):
    found = reported(tmp_path, {**SERVICE, **files})
    return [one.severity.name.lower() for one in found if one.symbol == "os.system"]


@pytest.mark.parametrize("files", DEAD.values(), ids=DEAD)
def test_a_call_in_code_that_nothing_names_is_a_note(tmp_path, files):
    assert {"note"} == set(severities(tmp_path, files))


def test_in_a_sketch_nothing_needs_a_caller(tmp_path):
    few = {name: text for name, text in SERVICE.items() if not name.startswith("part_")}
    assert ["warning"] == [one.severity.label for one in reported(tmp_path, few)]


@pytest.mark.parametrize(
    ("store", "severity"),
    [
        (CALLED.replace("rebuild", "_rebuild"), "note"),
        (CALLED.replace("Store", "_Store"), "note"),
        (f"{CALLED.replace('rebuild', '_rebuild')}\nALL = [Store._rebuild]\n", "warning"),
        (f"{CALLED.replace('Store', '_Store')}\nmade = _Store()\n", "warning"),
        (CALLED.replace("    def rebuild", "    @exposed\n    def _rebuild"), "warning"),
        (CALLED.replace("Store:", "_Store(Base):"), "warning"),
    ],
)
def test_in_a_sketch_something_private_needs_a_caller(tmp_path, store, severity):
    few = {name: text for name, text in SERVICE.items() if not name.startswith("part_")}
    found = reported(tmp_path, few | {"store.py": store})
    assert [severity] == [one.severity.label for one in found]


@pytest.mark.parametrize("files", USED.values(), ids=USED)
def test_a_call_in_code_that_something_may_use_is_none(tmp_path, files):
    assert ["warning"] == severities(tmp_path, files)
