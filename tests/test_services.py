"""The table of the packages that services require says what the catalog has now."""

from gblock import catalog
from tests.ecosystem import requirements


def test_the_table_of_requirements_shows_what_the_catalog_has(request):
    known = catalog.load()
    text = requirements.table(known)

    if request.config.getoption("--update"):
        requirements.TABLE.write_text(text, encoding="utf-8")

    assert requirements.TABLE.read_text(encoding="utf-8") == text, "record it: pytest --update"
    assert requirements.table(catalog.Catalog(())).count("\t-\n") == text.count("\n") - 4
