"""A JVM's own log of its safepoints."""

import re

SAFEPOINT = re.compile(
    r'\[(\d+)ns\] Safepoint "(\w+)", .* Total: +(\d+) ns')


class Safepoints:
    """For a Process that runs java with SAFEPOINT_LOG."""

    SAFEPOINT_LOG = "-Xlog:safepoint=info:stderr:timenanos"

    def safepoints(self):
        """[(begin, end, operation)], instants of CLOCK_MONOTONIC."""
        found = []
        for line in self.lines:
            match = SAFEPOINT.match(line)
            if match:
                end = int(match[1])
                found.append((end - int(match[3]), end, match[2]))
        return found

    def paused_ns(self, begin, end):
        """Time in safepoints within an interval."""
        return sum(max(0, min(end, e) - max(begin, b))
                   for b, e, _ in self.safepoints())
