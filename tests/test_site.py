"""The site of the documentation: it builds without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)


def _prose(text):
    """The text without code."""
    return re.sub(r"`[^`\n]*`", "``", _FENCE.sub("", text))


def _anchors(path):
    """The anchors of a page, as GitHub and the site make them of its headings."""
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in plain}


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *PAGES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_each_link_leads_somewhere(path):
    for link in _LINK.findall(_prose(path.read_text(encoding="utf-8"))):
        if re.match(r"https?://", link):
            continue
        name, _, fragment = link.partition("#")
        target = path.parent / name if name else path

        assert target.exists(), link
        if fragment:
            assert fragment in _anchors(target), link


def test_each_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- .*?: (\S+\.md)$", text, re.MULTILINE)

    assert sorted(listed) == sorted(path.name for path in PAGES)


def test_the_figures_of_the_limits_are_those_of_the_accuracy(request):
    accuracy = (DOCS / "accuracy.md").read_text(encoding="utf-8")
    section = accuracy.partition("\n## Figures\n")[2].partition("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert tables, "docs/accuracy.md has no table under Figures"
    path = DOCS / "limits.md"
    text = path.read_text(encoding="utf-8")
    before, rest = text.split("<!-- figures -->\n")
    after = rest[rest.index("<!-- end of figures -->") :]
    expected = f"{before}<!-- figures -->\n{tables[0]}{after}"
    if request.config.getoption("--update"):
        path.write_text(expected, encoding="utf-8")

    assert expected == path.read_text(encoding="utf-8"), "run pytest --update"


class Page(HTMLParser):
    """The elements of a page, and the files that it loads."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.counts, self.ids = [], {}, set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if "id" in values:
            self.ids.add(values["id"])
        if tag in ("script", "img", "iframe", "source"):
            self.loads.append(values.get("src") or "")
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values.get("href") or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if importlib.util.find_spec("material") is None:
        pytest.skip("not installed: gblock[docs]")
    folder = tmp_path_factory.mktemp("site")
    # Without a network: nothing may be fetched while it is built.
    code = (
        "import socket, runpy, sys\n"
        "def refused(*arguments): raise OSError('the site is built without a network')\n"
        "socket.socket.connect = refused\n"
        "socket.getaddrinfo = refused\n"
        "runpy.run_module('mkdocs', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", code, "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert 0 == done.returncode, done.stderr
    assert "WARNING -" not in done.stderr
    return folder


@pytest.mark.live
class TestSite:
    def test_nothing_is_loaded_from_elsewhere(self, site):
        for path in site.rglob("*.html"):
            text = path.read_text(encoding="utf-8")
            elsewhere = [one for one in Page(text).loads if re.match(r"(?:https?:)?//", one)]
            assert [] == elsewhere, path.name
        for path in site.rglob("*.css"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"url\(['\"]?(?:https?:)?//", text), path.name

    @pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
    def test_a_page_shows_the_tables_and_blocks_that_it_has(self, site, path):
        text = path.read_text(encoding="utf-8")
        page = Page((site / f"{path.stem}.html").read_text(encoding="utf-8"))
        tables = len(re.findall(r"^\|(?: *:?-+:? *\|)+$", _FENCE.sub("", text), re.MULTILINE))

        assert tables == page.counts.get("table", 0)
        assert len(_FENCE.findall(text)) == page.counts.get("pre", 0)
        assert _anchors(path) <= page.ids

    def test_links_out_of_the_pages_lead_to_the_repository(self, site):
        text = (site / "catalog.html").read_text(encoding="utf-8")

        assert 'href="https://github.com/gblock/gblock/blob/main/tests/evidence/README.md"' in text

    def test_the_search_knows_the_pages(self, site):
        text = (site / "search" / "search_index.json").read_text(encoding="utf-8")

        assert "tutorial.html#5-what-blocks-in-staging" in text
        assert Path(site / "assets" / "javascripts").is_dir()
