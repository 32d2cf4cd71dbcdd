"""Tailors without the kernel's events, for tests that need none: two thirds
of the work of a start are theirs.

    from support.quick import tailor  # noqa: F401
"""

import functools

import pytest


@pytest.fixture(name="tailor")
def tailor(tailor):  # pylint: disable=redefined-outer-name
    """Starts tailors, with profiler.kernel off if the test gives no other."""
    return functools.partial(tailor, profiler={"kernel": "off"})
