"""A scripted server as a process of its own, which can be launched, stopped
and killed.

    server.py PORT BACKLOG [echo] [hold=FILE] [stubborn]

It prints its port and responds with its pid; with echo, with what it was sent,
or the path.  /hold waits for the file.  SIGTERM ends it, if it is not
stubborn.
"""

import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from rig.message import response  # noqa: E402
from rig.origin import Origin  # noqa: E402

PORT, BACKLOG, *WORDS = sys.argv[1:]
HOLD = next((w.removeprefix("hold=") for w in WORDS if "hold=" in w), None)


def handler(request):
    while request.target.startswith("/hold") and not os.path.exists(HOLD):
        time.sleep(0.01)
    if "echo" in WORDS:
        return response(200, request.body or request.target.encode())
    return response(200, str(os.getpid()).encode())


if "stubborn" in WORDS:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = Origin("a", port=int(PORT), backlog=int(BACKLOG), handler=handler)
print(server.port, flush=True)
threading.Event().wait()
