"""Goal: every page can be read in a window of 1280, of 800 and of 400 pixels:
the page is not wider than the window, no word is smaller than 12 pixels, is cut
off or lies on another."""

import pathlib
import subprocess

import pytest

from rig.wait import PATIENCE_S, wait_until
from test_blame import line, table
from test_page import browser, live, open_live, page, pages  # noqa: F401
# pylint: disable=redefined-outer-name,unused-import

WIDTHS = [1280, 800, 400]
SMALLEST = 12

# A picture may be wider than the window, in a box of its own that scrolls.
LOOK = """(() => {
  const root = document.documentElement, small = [], cut = [], on = [];
  const box = (e) => e.getBoundingClientRect(), words = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, svg = e.closest("svg");
    const text = walk.currentNode.data.trim();
    if (text === "" || box(e).width === 0 ||
        e.closest("script, style, title, desc")) continue;
    const m = svg ? e.getScreenCTM() : { a: 1, b: 0 };
    const size = parseFloat(getComputedStyle(e).fontSize) *
      Math.hypot(m.a, m.b);
    if (size < %s - 0.05) small.push(`${size.toFixed(1)}: ${text}`);
    if (!svg) continue;
    const l = box(e.closest("text")), s = box(svg);
    if (l.left < s.left - 1 || l.right > s.right + 1 ||
        l.top < s.top - 1 || l.bottom > s.bottom + 1) cut.push(text);
    for (const other of words)
      if (other.svg === svg && other.e !== e.closest("text") &&
          Math.min(l.right, other.l.right) -
            Math.max(l.left, other.l.left) > 2 &&
          Math.min(l.bottom, other.l.bottom) -
            Math.max(l.top, other.l.top) > 4)
        on.push(`${text} on ${other.text}`);
    words.push({ e: e.closest("text"), svg, text, l });
  }
  /* A box that scrolls only for lack of a scroll bar's width is a mistake. */
  const almost = [...document.querySelectorAll("*")].filter((e) => {
    const more = e.scrollWidth - e.clientWidth;
    return getComputedStyle(e).overflowX === "auto" && more > 0 && more < 24;
  }).map((e) => `${e.id || e.className}: ${e.scrollWidth - e.clientWidth}`);
  return { wider: Math.max(0, root.scrollWidth - root.clientWidth),
           small, cut, on, almost };
})()""" % SMALLEST

GOOD = {"wider": 0, "small": [], "cut": [], "on": [], "almost": []}


def look(page, width, url, open_it=None):
    """What is wrong with a page in a window of that width."""
    page.resize(width, 900)
    (open_it or (lambda p, u: p.open(u)))(page, url)
    page.frame()
    return page.evaluate(LOOK)


@pytest.mark.parametrize("name", ["ack", "gc", "classes", "held", "many",
                                  "hostile"])
def test_timeline(pages, page, name):  # noqa: F811
    # Goal: the page of `why --html`.
    for width in WIDTHS:
        assert look(page, width, (pages / f"{name}.html").as_uri()) == GOOD
        assert page.errors == []


def test_blame(ctl, page, tmp_path):  # noqa: F811
    # Goal: the page of `blame --html`, with every part of it.
    file = table(tmp_path, *(
        line(n, n / 50, 1 + n % 7 / 10, gc=30 + n % 9 if n % 50 < 2 else 0,
             disk=17 if n % 67 == 0 else 0, unknown=11 if n % 80 == 0 else 0,
             kernel=n % 9 > 0) for n in range(5000)))
    out = tmp_path / "page.html"
    found = ctl("blame", "--html", "-o", str(out), "--file", str(file),
                "--since", "40s", "--against", "50s")
    assert found.returncode == 0, found.err
    for width in WIDTHS:
        assert look(page, width, out.as_uri()) == GOOD
        assert page.evaluate(
            "document.querySelectorAll('.wide > svg').length") == 2


def test_live(live, page):  # noqa: F811
    # Goal: the live page, with a tail; and as it is after the window changed.
    page.resize(WIDTHS[-1], 900)
    open_live(page, live.url)
    page.evaluate("""(() => {
        const real = fetch;
        window.fetch = async (...where) => {
          const j = await (await real(...where)).json();
          j.tail = [...Array(10).keys()].map((n) => ({
            ended_ago_ns: 1e9 + n * 60e9, p99_ns: 84.4e6, few: false,
            causes: [{cause: "gc", words: "garbage collection",
                      share_ns: 84.4e6}]}));
          j.latency.forEach((b) => { b.requests = 123456; });
          j.servers[0].name = "a-server-of-a-long-name";
          return new Response(JSON.stringify(j));
        };
      })()""")
    wait_until(lambda: not page.evaluate(
        "document.getElementById('tailpart').hidden"), "it is drawn")
    assert page.evaluate(LOOK) == GOOD
    for other in WIDTHS:
        page.resize(other, 900)
        page.frame()
        assert page.evaluate(LOOK) == GOOD
    assert page.errors == []


@pytest.mark.long("its figures are measured, and how wide they are with them")
def test_load_report(build, page, stub, tmp_path):  # noqa: F811
    # Goal: the page of tailor-load.
    server = stub(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    out = pathlib.Path(tmp_path) / "out"
    subprocess.run([build / "tailor-load", "-r", "200", "-d", "1s",
                    "--iterations", "2", "--out", out, server.url],
                   check=False, capture_output=True, timeout=PATIENCE_S)
    for width in WIDTHS:
        assert look(page, width, (out / "report.html").as_uri()) == GOOD
