"""Python programs that Tailor starts as its servers."""

import sys

import pytest

from rig.ports import free_port


def script(directory, text, *arguments, name="server"):
    """The configuration of a server that is a Python program; the first of its
    arguments is its port."""
    port = free_port()
    path = directory / f"{name}.py"
    path.write_text(text)
    path.chmod(0o644)
    return {"name": name, "address": f"127.0.0.1:{port}", "launch": {
        "command": [sys.executable, str(path), str(port), *arguments]}}


def need_kernel(t):
    """Skip the rest of a test where the kernel's events are not permitted."""
    if " kernel_off " in t.wait_log(" kernel_o"):
        pytest.skip("BPF is not permitted")
