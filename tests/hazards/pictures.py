#!/usr/bin/python3
"""Pictures of real slow requests, for the documentation.

    tests/hazards/pictures.py --build build --out docs/pictures [NAME...]

Injects each of the named hazards once (default: Nagle with a delayed
acknowledgement, a collection that Tailor acted on, class loading after a
restart), fetches the request's page, and takes a screenshot of it with
Chromium.  Needs what hazards.py needs, and chromium.
"""

import argparse
import os
import pathlib
import random as randoms
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rig import stage  # noqa: E402
from rig.process import ROOT  # noqa: E402
from rig.wait import Late  # noqa: E402
from scenarios import all_scenarios  # noqa: E402

NAMES = ("nagle", "gc-resent", "class-loading")
STRIKES = 8


def page(scenario, random):
    """The page of an injected request that was hit and explained right."""
    for _ in range(STRIKES):
        scenario.calm(random)
        injection = scenario.inject(random)
        tale = scenario.stage.tale(injection.request, injection.stamps)
        harm_ns = injection.harm_ns
        if harm_ns is None and scenario.harm_ns:
            harm_ns = scenario.harm_ns(tale)
        if scenario.hit(tale, harm_ns):
            print(tale["verdict"]["text"])
            return scenario.stage.tailor.ask(
                f"/timeline/{injection.request}?format=html").body
    raise Late("the injection keeps missing its request")


def screenshot(html, path):
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "page.html"
        file.write_bytes(html)
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--window-size=1200,1200",
             f"--screenshot={path}", f"file://{file}"], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--out", type=pathlib.Path,
                   default=ROOT / "docs" / "pictures")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("name", nargs="*", default=NAMES)
    o = p.parse_args()
    if shutil.which("chromium") is None:
        sys.exit("no chromium: apt-get install chromium")
    o.out.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {stage.PROXY_CPU})
    stage.before_others()
    known = all_scenarios()
    for name in o.name:
        scenario = known[name](o.build)
        try:
            html = page(scenario, randoms.Random(o.seed))
        finally:
            scenario.stop()
        path = (o.out / f"{name}.png").resolve()
        screenshot(html, path)
        print(path)


if __name__ == "__main__":
    main()
