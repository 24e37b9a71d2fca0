"""The stories in short: naive code is reported and recorded, corrected code is not."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import fixes  # noqa: E402
from benchmarks.stories import page  # noqa: E402
from benchmarks.stories.story import Unavailable  # noqa: E402

# The line of the naive code that blocks, and what is to be said of it.
BLAMED = {
    "celery_pool": ("orders.py:9", None),
    "kafka_consumer": ("consumer.py:16", "confluent-kafka-consumer-poll"),
    "worker_types": ("app.py:14", "hashlib-pbkdf2-hmac"),
    "kafka_flush": ("migration_job.py:10", "confluent-kafka-producer-flush"),
    "celery_backends": ("sender.py:19", "celery-send-task"),
}


@pytest.fixture(scope="module", params=page.NAMES)
def story(request):
    try:
        return request.param, importlib.import_module(f"benchmarks.stories.{request.param}").result(
            quick=True
        )
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.live
def test_the_linter_and_the_probe_name_the_naive_line_and_nothing_of_the_corrected(story):
    name, result = story
    place, blocker = BLAMED[name]
    naive, corrected = result.seen["naive"], result.seen["corrected"]

    assert naive.checked
    assert any(one.startswith(place) for one in naive.observed), naive
    if blocker is not None:
        assert any(one.startswith(place) and one.endswith(blocker) for one in naive.checked)
    assert ([], []) == (corrected.checked, corrected.observed)


@pytest.mark.live
def test_a_quick_story_has_the_tables_and_pictures_of_a_whole_one(story):
    name, result = story
    whole = page.load(name)

    assert [table.head for table in whole.tables] == [table.head for table in result.tables]
    assert [one.kind for one in whole.pictures] == [one.kind for one in result.pictures]
    assert all(row for table in result.tables for row in table.rows)


def test_the_page_shows_what_was_measured():
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


@pytest.mark.parametrize("name", page.NAMES)
def test_each_picture_of_the_page_is_there(name):
    for number, _ in enumerate(page.load(name).pictures):
        picture = page.FOLDER / page.picture_name(name, number)
        assert picture.read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.live
@pytest.mark.parametrize("program", fixes.PROGRAMS, ids=lambda one: one.folder.name)
def test_the_naive_code_about_kafka_is_mended_by_fixes_alone(program):
    with fixes.fixed(program) as directory:
        assert ([], []) == fixes.seen(program, directory)
    assert fixes.seen(program, program.folder / "naive")[1]
