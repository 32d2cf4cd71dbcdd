"""What was measured, by name and version."""

import re
import shutil
import subprocess

from shared import ROOT, Trouble, java, lucene_jars


def _first_line(argv):
    """What a program says of itself, or ""."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              check=False)
    except OSError:
        return ""
    if done.returncode != 0:
        return ""
    return done.stdout.partition("\n")[0].strip()


def _commit():
    """Of the working tree, marked if files differ from it."""
    return _first_line(["git", "-C", str(ROOT), "describe", "--always",
                        "--dirty", "--exclude=*"])


def _service():
    """The JVM and Lucene."""
    try:
        jars = [re.search(r"core-([\d.]+)\.jar", jar)
                for jar in lucene_jars()]
        found = [_first_line([java(), "-version"]).replace('"', "")]
        if java(newest=True) != java():
            found += ["newest JDK " + _first_line(
                [java(newest=True), "-version"]).replace('"', "")]
    except Trouble:
        return []
    return found + [f"Lucene {match[1]}" for match in jars if match]


def versions(build):
    """[text, ...]"""
    tailor = _first_line([str(build / "tailor"), "--version"])
    commit = _commit()
    found = [f"{tailor} ({commit})" if commit else tailor, *_service()]
    for name, flag in (("haproxy", "-v"), ("nginx", "-v")):
        program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if program:
            text = _first_line([program, flag])
            match = re.search(r"\d+\.\d+[\w.+~-]*", text)
            found.append(f"{name} {match[0]}" if match else name)
    return [text for text in found if text]
