"""All hazards, in the order of the table.
"""

from hazards_outside import (Fifo, Freeze, Hog, Quota, StopAll, StopWorker)
from hazards_own import (Amid, Backoff, Cold, Collect, Compute, Database,
                         Faults, Fsync, Gil, LockCompute, LockSleep, Mapped,
                         Outbound, Sleep, Udp)
from hazards_requests import (Big, Full, OneThread, Overload, Pool,
                              SlowReader, Upload, Young)

HAZARDS = {kind.kind: kind for kind in (
    Sleep, Backoff, Compute, Amid, LockSleep, LockCompute, Gil, Cold, Mapped,
    Fsync, Outbound, Database, Udp, Faults, Collect, Full, Young, OneThread,
    Pool, Overload, SlowReader, Upload, Big, Fifo, Hog, StopAll, StopWorker,
    Freeze, Quota)}
