"""The number of examples of a property test.

The examples are other ones in each run. A quick run tries a quarter of what `.ci/run` tries, with
``--hypothesis-profile=thorough``.
"""

from hypothesis import settings


def examples(number):
    """Return a share of a number: all of it in a thorough run."""
    return max(2, number * settings.default.max_examples // 100)
