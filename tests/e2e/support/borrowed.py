"""`tailor borrow` as tests begin it."""

import contextlib
import os
import signal
import subprocess

# No other tailor of this machine is asked what it costs.
ALONE = {**os.environ, "TAILOR_ADMIN": "/nowhere"}


@contextlib.contextmanager
def beginner(build, *always):
    """start(COMMAND..., options=, env=) is a running `tailor borrow`, with what
    is always given, in a group of its own, and with no signal ignored, as nohup
    has it; what of it still runs is killed at the end."""
    begun = []

    def start(*command, options=(), env=ALONE):
        p = subprocess.Popen(
            ["env", "--default-signal", build / "tailor", "borrow", *always,
             *options, *command],
            text=True, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, process_group=0)
        begun.append(p)
        return p

    yield start
    for p in begun:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.communicate()
