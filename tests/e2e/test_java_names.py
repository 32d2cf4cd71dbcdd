"""Goal: a stack of a JVM has the names of the service's Java methods, with a
stock JVM, and its user's limits."""

import pytest

from rig.wait import wait_until
from support import jvm as jvms
from support.launched import need_kernel, past
from test_jvm import launched


def compute(t, name, ms=30):
    """The timeline of a request that computes."""
    assert t.get(f"/compute?ms={ms}",
                 fields=[("X-Request-Id", name)]).status == 200
    return t.timeline(name)


def service(tailor, classes, java=None, options=(), **more):
    """A tailor before a JVM whose methods have been compiled."""
    a = launched(classes, "a", ("-Xmx64m", "-XX:+UseSerialGC", *options), java)
    t = tailor({**a, **more}, slow={"target": "0"})
    t.wait_server("a", state="ready")
    need_kernel(t)
    past(a, "/compute?ms=1000")
    return t


@pytest.mark.parametrize("version", jvms.VERSIONS)
def test_methods_have_names(tailor, java_classes, ctl, version):
    # Goal: the method that computes is named; the JVM is told to write its map
    # once, not for each request.
    t = service(tailor, java_classes, jvms.java_of(version))
    tries = iter(range(1000))
    seen = []

    def named():
        seen.append(f"r{next(tries)}")
        evidence = " ".join(compute(t, seen[-1])["verdict"]["evidence"])
        return " in Server.spin" in evidence or " in Server.comp" in evidence
    wait_until(named, "it has the name")
    assert "Server." in ctl("-a", t.admin, "why", seen[-1], wide=True).out
    assert " code_map_written server=a " in t.wait_log(" code_map_written ")
    assert t.metrics()["tailor_code_maps_failed_total"] == 0
    assert t.metrics()["tailor_code_maps_total"] <= 2
