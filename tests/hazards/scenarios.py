"""All hazards, in the order of the matrix."""

from scenarios_jvm import Classes, Full, Java, Resent, Safepoint, Young
from scenarios_net import (ClientLate, DelayedAck, Loss, Retransmit, Unaccepted,
                           Window)
from scenarios_server import (Disk, FairHog, Fifo, Hog, HugeFault, Lock, Queue,
                              SmallFaults, Stopped, Work)


def all_scenarios():
    """Name -> class."""
    rows = [Work, DelayedAck, HugeFault, SmallFaults, Disk, Hog, FairHog, Fifo,
            Lock, Stopped, Queue, Unaccepted, ClientLate, Window, Retransmit,
            Loss]
    for kind in (Young, Full):
        for collector in ("G1", "Parallel", "Serial"):
            rows.append(type(kind.__name__ + collector, (kind,), {
                "collector": collector,
                "name": f"gc-{kind.__name__}-{collector}".lower()}))
    rows += [Safepoint, Classes, Resent]
    return {row.name: row for row in rows}


__all__ = ["Java", "all_scenarios"]
