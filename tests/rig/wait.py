"""Waiting, always with a limit: nothing in these tests may hang."""

import os
import threading
import time

# Every wait for something that is expected to happen.  It only limits how long
# a failure takes: ten times what a sanitizer build on a busy machine needs.
PATIENCE_S = float(os.environ.get("TAILOR_PATIENCE_S", 120))

_never = threading.Event()


class Late(AssertionError):
    """What a test waited for did not happen in time."""


def wait_until(predicate, what, timeout_s=PATIENCE_S):
    """Poll predicate() until it is true and return its value.

    For states of another process that cannot be waited on in another way.
    what: a text, or a function of how it is when it is late.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            how = what() if callable(what) else what
            raise Late(f"not within {timeout_s:g} s: {how}")
        _never.wait(0.01)


def steady(read, times=10):
    """The value of read() once it has been the same for several polls."""
    values = []

    def same():
        values.append(read())
        return all(v == values[-1] for v in values[-times:]) and (
            len(values) >= times)

    wait_until(same, lambda: f"steady: {values[-times:]}")
    return values[-1]
