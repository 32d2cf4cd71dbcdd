"""Goal: every key that a message, an advice or a document names is one."""

import json
import re

from rig.process import ROOT, output

FOLDERS = ["base", "config", "talechain", "profiler", "hedging", "proxy",
           "loadgen", "tailorctl"]
FILES = ("h", "c", "md", "html", "json", "sock")  # "talechain.h" is no key


def keys_of(one, path=""):
    """The keys and sections of a schema, "servers.name" for servers[].name."""
    one = one.get("items", one) if one.get("type") == "array" else one
    for name, member in one.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        yield inner
        yield from keys_of(member, inner)


def literals(text):
    """The strings of a C source, neighbours joined."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^[ \t]*#[ \t]*include.*$", "", text, flags=re.M)
    for run in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', run))


def test_names(build):
    schema = json.loads(output(build / "tailor", "--schema"))
    keys = set(keys_of(schema))
    sections = {k.split(".")[0] for k in keys if "." in k}
    assert len(keys) > 80 and "servers" in sections
    name = re.compile(rf"(?<![\w./-])({'|'.join(sections)})(?:\[\d?\])?"
                      r"((?:\.[a-z_]+)+)(?![\w/(])")
    texts = [(path, literal) for folder in FOLDERS
             for path in (ROOT / folder).rglob("*.[ch]")
             for literal in literals(path.read_text())]
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"),
                 *(ROOT / "docs").glob("*.scd"),
                 *(ROOT / "config").glob("*.txt")]
    texts += [(path, path.read_text().replace("\\_", "_"))
              for path in documents]
    found = [(path.name, m[1] + m[2]) for path, text in texts
             for m in name.finditer(text)]
    assert len(found) > 100
    wrong = {(path, key) for path, key in set(found)
             if key not in keys and key.rpartition(".")[2] not in FILES}
    assert not wrong
