"""Goal: a timeline's page works in a real browser: from a file and from a
server, with a script and without, for hands on a keyboard, for eyes in the
dark; whatever the strings in it are.  So does the live page."""

import http.server
import json
import pathlib
import re
import threading

import pytest

from rig.process import ROOT, output, ran
from rig.wait import wait_until
from support import browser as browsers
from test_blame import line, table

KERNEL_EVENTS = "off"

SAMPLES = ["ack", "gc", "classes", "held", "plain", "empty", "hostile", "many"]

# Labels that lie on bars of others, or do not lie within their own.
BAD_LABELS = """(() => {
  const box = (e) => e.getBoundingClientRect();
  const seen = (e) => box(e).width > 0;
  const bars = [...document.querySelectorAll(".bars .bar")].filter(seen);
  const bad = [];
  for (const label of document.querySelectorAll(".labels .label")) {
    if (!seen(label)) continue;
    const l = box(label), inside = label.classList.contains("in");
    for (const bar of bars) {
      const b = box(bar.querySelector(".body"));
      if (b.bottom <= l.top + 4 || b.top >= l.bottom - 4) continue;
      const apart = l.right <= b.left + 1 || l.left >= b.right - 1;
      const within = l.left >= b.left && l.right <= b.right;
      if (!apart && !(inside && within))
        bad.push(label.textContent + " on " + bar.dataset.n);
    }
  }
  return bad;
})()"""


@pytest.fixture(scope="module")
def pages(build, tmp_path_factory):
    """A folder with every rendering of every sample."""
    folder = tmp_path_factory.mktemp("pages")
    output(build / "e2e" / "talechain_pages", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    executable = browsers.find()
    if executable is None:
        pytest.skip(browsers.INSTALL)
    chromium = browsers.Browser(executable,
                                str(tmp_path_factory.mktemp("browser")))
    yield chromium
    chromium.close()


@pytest.fixture
def page(browser):
    tab = browser.page()
    yield tab
    tab.close()


def texts(page, selector):
    return page.evaluate("[...document.querySelectorAll("
                         f"{json.dumps(selector)})].map(e => e.textContent)")


def selected(page):
    return page.evaluate("document.querySelector('.bar.selected')?.dataset.n")


def view(page):
    """What the address says is shown, ns; None: everything."""
    found = re.search(r"v=(\d+),(\d+)", page.evaluate("location.hash"))
    return found and tuple(map(int, found.groups()))


@pytest.mark.parametrize("name", SAMPLES)
def test_opens_from_a_file(pages, page, name):
    # Goal: no error, no complaint of the policy, everything where it belongs.
    page.open((pages / f"{name}.html").as_uri())
    assert page.evaluate("document.querySelector('svg').classList"
                         ".contains('live')")
    assert page.evaluate(BAD_LABELS) == []
    assert page.errors == []


@pytest.mark.parametrize("name", SAMPLES)
def test_shows_without_its_script(pages, page, name):
    # Goal: the picture, the response and the tables are there without script.
    page.scripts(False)
    page.open((pages / f"{name}.html").as_uri())
    assert page.evaluate("document.querySelector('#tools').hidden")
    assert page.evaluate("document.querySelector('svg')"
                         ".getBoundingClientRect().height") > 50
    assert page.evaluate("""[...document.querySelectorAll('.bar .body')]
        .every((e) => e.getBoundingClientRect().width >= 2)""")
    assert page.evaluate(BAD_LABELS) == []
    assert texts(page, "#verdict") != [""]
    assert page.errors == []


def test_pictures_open_alone(pages, page):
    # Goal: the SVG file shows by itself, and no label lies on another's bar.
    for name in SAMPLES:
        page.open((pages / f"{name}.svg").as_uri())
        assert page.evaluate(BAD_LABELS) == []
        assert page.errors == []


def test_keys_zoom_and_pan(pages, page):
    # Goal: w, s, a, d and 0 change what is shown, and back.
    page.open((pages / "many.html").as_uri())
    assert view(page) is None
    width = "document.querySelector('.bar[data-i=\"20\"] .body')" \
            ".getBoundingClientRect().width"
    before = page.evaluate(width)
    page.press("w")
    first = view(page)
    assert first and page.evaluate(width) > before * 1.4
    page.press("d")
    assert view(page)[0] > first[0]
    page.press("a")
    assert view(page) == pytest.approx(first, abs=2)
    page.press("w")
    assert view(page)[1] - view(page)[0] < first[1] - first[0]
    page.press("s", "s", "s")
    assert view(page) is None
    page.press("w", "0")
    assert view(page) is None
    assert page.evaluate(BAD_LABELS) == [] and page.errors == []


def test_labels_stay_off_bars(pages, page):
    # Goal: at any zoom no label lies on a bar that is not its own.
    for name in ["ack", "many", "random-3", "random-7"]:
        page.open((pages / f"{name}.html").as_uri())
        for _ in range(6):
            page.press("w")
            assert page.evaluate(BAD_LABELS) == []
        page.press("g")
        assert page.evaluate(BAD_LABELS) == []
    assert page.errors == []


def test_brackets_follow_arrows(pages, page):
    # Goal: ] goes where the arrow goes, [ comes back.
    page.open((pages / "gc.html").as_uri())
    page.press(".")
    assert selected(page) == "send"
    walk = []
    for _ in range(2):
        page.press("]")
        walk.append(selected(page))
    assert walk == ["receive, send to A", "query"]
    page.press("[")
    assert selected(page) == "receive, send to A"
    assert "first attempt" in texts(page, "#selection")[0]
    page.press(".")
    assert selected(page) == "hedge, send to B"
    page.press("]")
    assert "B: qtp-7" in texts(page, "#selection")[0]
    page.press(",", "Escape")
    assert selected(page) is None


def test_next_piece(pages, page):
    # Goal: n walks through the pieces of the time, all of them, in order.
    page.open((pages / "ack.html").as_uri())
    said = []
    for _ in range(8):
        page.press("n")
        said.append(texts(page, "#selection")[0])
    assert [text.split(":")[0] for text in said] == \
        [f"piece {i} of 8" for i in range(1, 9)]
    assert "waiting for an ACK" in said[5]


def test_search(pages, page):
    # Goal: / searches what bars say; the rest steps back; Esc clears.
    page.open((pages / "gc.html").as_uri())
    page.press("/", *"query")
    assert texts(page, "#found") == ["2 of 12"]
    assert page.evaluate("document.querySelectorAll('.bar.match').length") == 2
    page.press("Enter")
    assert selected(page) == "query"
    page.press("Escape")
    assert texts(page, "#found") == [""]
    assert page.evaluate("document.querySelectorAll('.match').length") == 0


def test_folds(pages, page):
    # Goal: g unfolds; folded it says that it is not to scale.
    page.open((pages / "ack.html").as_uri())
    ratio = """(() => { const w = (i) => document.querySelector(
        `.bar[data-i="${i}"] .body`).getBoundingClientRect().width;
        return w(11) / w(8); })()"""
    assert len(texts(page, ".fold")) == 2
    assert texts(page, ".scale") == ["not to scale: folded"]
    folded = page.evaluate(ratio)
    page.press("g")
    assert texts(page, ".fold") == [] and texts(page, ".scale") == [""]
    assert page.evaluate("location.hash") == "#gaps=0"
    # 38.7 ms of waiting and 1.96 ms of work.
    assert page.evaluate(ratio) == pytest.approx(38700 / 1960, rel=0.02)
    assert folded < 2


STRIP = """(() => {
  const box = (e) => e.getBoundingClientRect();
  return [...document.querySelectorAll(".curve")].map((curve) => ({
    says: curve.getAttribute("aria-label"),
    usual: !!curve.querySelector(".usual"),
    points: [...curve.querySelectorAll(".point")].map((p) => ({
      title: p.querySelector("title").textContent,
      shown: box(p).width > 0, left: box(p).left, right: box(p).right,
      top: box(p).top, bottom: box(p).bottom})),
    bars: [...document.querySelectorAll(".bars .bar .body")].map(
      (b) => [box(b).top, box(b).bottom])}));
})()"""


def test_strips_lie_under_their_lane(pages, page):
    # Goal: each rate is a strip that covers no bar, says its values, is as
    # high as they are, and moves with the view.
    page.open((pages / "classes.html").as_uri())
    ipc, classes = page.evaluate(STRIP)
    assert ipc["says"] == ("ipc of A: main, at most 1.50 instructions per "
                           "cycle, usually 1.20")
    assert ipc["usual"] and not classes["usual"]
    assert [p["title"].split(",")[0] for p in ipc["points"]] == [
        "ipc 0.60 instructions per cycle", "ipc 0.30 instructions per cycle",
        "ipc 1.50 instructions per cycle"]
    low, lower, usual = ipc["points"]
    assert low["right"] == pytest.approx(lower["left"], abs=0.6)
    assert usual["left"] > lower["right"] + 5  # what was distorted is a gap
    height = [p["bottom"] - p["top"] for p in ipc["points"]]
    assert height[0] == pytest.approx(2 * height[1], abs=0.5)
    assert height[2] == pytest.approx(5 * height[1], abs=0.7)
    for curve in ipc, classes:
        for top, bottom in curve["bars"]:
            assert all(bottom <= p["top"] or top >= p["bottom"]
                       for p in curve["points"])
    page.press("w")
    zoomed = page.evaluate(STRIP)[0]["points"]
    assert zoomed[1]["left"] > lower["left"] + 5  # it moved, as time did


@pytest.mark.parametrize("name", ["ack", "gc", "many", "hostile"])
def test_tables_have_everything(pages, page, name):
    # Goal: a row for every bar, arrow, piece and event of the data.
    page.open((pages / f"{name}.html").as_uri())
    data = json.loads(texts(page, "#data")[0])
    assert data["schema"] == "tailor.timeline/1"
    rows = {key: len(texts(page, f"#{key} tbody tr"))
            for key in ("segments", "bars", "arrows", "events")}
    assert rows == {
        "segments": len(data["path"]),
        "bars": sum(len(data[k]) for k in (
            "stages", "work", "delays", "others", "holders")),
        "arrows": len(data["flows"]) + len(data["wakes"]),
        "events": len(data["events"])}
    assert page.evaluate("document.querySelectorAll('.bars .bar').length") == \
        rows["bars"]
    assert page.evaluate("document.querySelectorAll('.arrows .arrow').length"
                         ) == rows["arrows"]


def test_kinds_look_different(pages, page):
    # Goal: work on this request, another request, the thread that is waited
    # for and each kind of wait have a colour and a pattern of their own, light
    # and dark; the legend has each and says what it is; in paper, too.
    look = """(() => Object.fromEntries(
        [...document.querySelectorAll(".key > g:not(.arrow)")].map((g) => [
            g.nextElementSibling.textContent,
            [getComputedStyle(g.querySelector(".body")).fill + " " +
             getComputedStyle(g.querySelector(".body")).fillOpacity,
             g.querySelector(".cue")?.getAttribute("fill") ?? "none"]])))()"""
    for scheme in "light", "dark":
        page.media(prefers_color_scheme=scheme)
        page.open((pages / "held.html").as_uri())
        kinds = page.evaluate(look)
        assert list(kinds) == [
            "request in progress", "work on this request", "another request",
            "work of the thread that is waited for",
            "others' work on that CPU", "in a queue", "for another thread",
            "for disk or memory"]
        assert len({colour for colour, _ in kinds.values()}) == len(kinds)
        patterns = [p for _, p in kinds.values() if p != "none"]
        assert len(set(patterns)) == len(patterns) == 5
        # What a bar looks like is what the legend shows.
        bars = page.evaluate("""[...document.querySelectorAll(
            ".bars .bar")].map((g) => [
                getComputedStyle(g.querySelector(".body")).fill + " " +
                getComputedStyle(g.querySelector(".body")).fillOpacity,
                g.querySelector(".cue")?.getAttribute("fill") ?? "none"])""")
        assert {tuple(b) for b in bars} == set(map(tuple, kinds.values()))
    page.media(prefers_color_scheme="light")


def test_narrow(pages, page):
    # Goal: at 400 pixels nothing but the picture is wider than the window,
    # and in the picture no word is cut off.
    page.resize(400, 900)
    page.open((pages / "held.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("""(() => { const r = document.querySelector(
        "svg.picture").getBoundingClientRect(); return [...document
        .querySelectorAll("svg.picture .key text, svg.picture .sum text")]
        .filter((e) => e.getBoundingClientRect().right > r.right)
        .map((e) => e.textContent); })()""") == []
    assert page.errors == []


def test_strings_stay_strings(pages, page):
    # Goal: hostile strings make no element and run nothing.
    page.open((pages / "hostile.html").as_uri())
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.evaluate("document.scripts.length") == 3
    assert "<img src=x" in texts(page, "#verdict")[0]
    data = json.loads(texts(page, "#data")[0])
    assert "</script>" in data["lanes"][0]["name"]
    page.press(".", "]", "n", "/", "i", "m", "g", "Enter")
    page.evaluate("document.querySelector('.bar').dispatchEvent("
                  "new PointerEvent('pointermove', {bubbles: true}))")
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.errors == []


def cannot_run(page):
    """Assert that what got in all the same could neither run nor talk."""
    page.evaluate("""(() => { const s = document.createElement("script");
        s.textContent = "window.ran = true"; document.body.append(s); })()""")
    assert page.evaluate("window.ran") is None
    assert page.evaluate("fetch('data:,x').then(() => 1, () => 0)") == 0
    assert any("Content Security Policy" in text for text in page.errors)


def test_policy_holds(pages, page):
    # Goal: what got in all the same could neither run nor talk.
    page.open((pages / "ack.html").as_uri())
    cannot_run(page)
    assert page.evaluate("""new Promise((done) => { const i = new Image();
        i.onload = () => done(1); i.onerror = () => done(0);
        i.src = "data:image/gif;base64,R0lGODlhAQABAAAAACw="; })""") == 0


def test_every_bar_can_be_reached(pages, page):
    # Goal: each bar has words for a screen reader and can take the focus.
    page.open((pages / "ack.html").as_uri())
    words = page.evaluate("""[...document.querySelectorAll(".bars .bar")].map((e) => {
        e.focus();
        return document.activeElement === e && e.getAttribute("aria-label");
    })""")
    assert "parse, CPU 2 search, thread 812, 0.340 ms to 0.430 ms, 90.0 \u00b5s" \
        in words
    assert all(words)


def background(page):
    return page.evaluate(
        "getComputedStyle(document.documentElement).backgroundColor")


def test_dark_and_light(pages, page):
    # Goal: as the system has it; t changes it; paper is always white.
    page.media(prefers_color_scheme="dark")
    page.open((pages / "gc.html").as_uri())
    assert background(page) == "rgb(20, 23, 26)"
    page.press("t")
    assert background(page) == "rgb(255, 255, 255)"
    page.press("t", "t")
    page.media("print", prefers_color_scheme="dark")
    assert background(page) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('#tools'))"
                         ".display") == "none"
    page.media(prefers_color_scheme="light")
    assert background(page) == "rgb(255, 255, 255)"


def test_layers(pages, page):
    # Goal: 1 to 4 take a kind of mark away and bring it back.
    page.open((pages / "ack.html").as_uri())
    shown = """(s) => [...document.querySelectorAll(s)].filter((e) =>
        e.getBoundingClientRect().width > 0).length"""
    for key, selector in ("1", ".arrows .flow"), ("2", ".arrows .wake"), \
            ("3", ".bars .delay"), ("4", ".bars .other"):
        count = f"({shown})({json.dumps(selector)})"
        before = page.evaluate(count)
        page.press(key)
        assert before > 0 and page.evaluate(count) == 0
        page.press(key)
        assert page.evaluate(count) == before


def test_the_address_keeps_the_view(pages, page):
    # Goal: a link to a moment shows that moment.
    page.open((pages / "ack.html").as_uri() + "#v=100000,400000&sel=9&gaps=0")
    assert view(page) == (100000, 400000)
    assert selected(page) == "parse"
    assert texts(page, ".axis text")[0] == "0.10 ms"
    # Nonsense in it shows everything.
    page.open((pages / "ack.html").as_uri() + "#v=9,x&sel=<img>&theme=pink")
    assert view(page) is None and selected(page) is None
    assert page.errors == []


def test_pointer(pages, page):
    # Goal: dragging pans, Shift measures, the overview chooses, a click
    # selects, pointing at a bar shows its arrows.
    page.open((pages / "many.html").as_uri())
    place = lambda s: page.evaluate(f"""(() => {{ const r = document
        .querySelector({json.dumps(s)}).getBoundingClientRect();
        return [r.left + r.width / 2, r.top + r.height / 2]; }})()""")
    x, y = place(".overview")
    page.drag((x - 50, y), (x + 50, y))
    chosen = view(page)
    assert chosen and chosen[1] - chosen[0] == pytest.approx(
        100 / page.evaluate("document.querySelector('.overview .paper')"
                            ".getBoundingClientRect().width") * 5146e3,
        rel=0.05)
    x, y = place(".lane.client .paper")
    page.drag((x, y), (x + 60, y))
    assert view(page)[0] < chosen[0]
    page.press("0")
    page.drag((x, y), (x + 60, y), modifiers=8)
    assert re.match(r"measured: \d+ .s, from ", texts(page, "#selection")[0])
    page.press("Escape")
    x, y = place('.bar[data-i="2"] .body')
    page.mouse("mouseMoved", x, y)
    assert page.evaluate("document.querySelectorAll('.arrow.lit').length") > 0
    assert page.evaluate("document.querySelector('#tip').hidden") is False
    page.mouse("mousePressed", x, y, 1)
    page.mouse("mouseReleased", x, y)
    page.frame()
    assert page.evaluate("document.querySelector('.bar.selected').dataset.i"
                         ) == "2"
    assert page.errors == []


def test_copies_the_answer(pages, page):
    # Goal: the button copies verdict, evidence, advice and identity.
    page.open((pages / "ack.html").as_uri())
    page.evaluate("navigator.clipboard.writeText = (t) => "
                  "{ window.copied = t; return Promise.resolve(); }")
    page.evaluate("document.querySelector('[data-do=copy]').click()")
    page.frame()
    lines = page.evaluate("window.copied").splitlines()
    assert lines[0].startswith("38.7 of 41.2 ms: the response waited")
    assert any("TCP_NODELAY" in line for line in lines[1:])
    assert lines[-1].startswith("GET /search?q=tail")
    assert texts(page, "#selection") == ["verdict copied"]


# --- the live page ------------------------------------------------------------

class Relay(http.server.SimpleHTTPRequestHandler):
    """Passes a browser's requests on to an admin socket, server.admin."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        try:
            response = self.server.admin.ask(self.path)
        except OSError:
            self.send_error(502)
            return
        self.send_response(response.status)
        for name in "Content-Type", "Content-Security-Policy":
            self.send_header(name, response.get(name) or "")
        self.end_headers()
        self.wfile.write(response.body)


@pytest.fixture
def live(upstream, tailor):
    """A tailor with 7 slow requests, and the URL of its live page."""
    active, backup = upstream("active").serve(), upstream("backup").serve()
    t = tailor(active, backup, slow={"target": "0"})
    with t.client() as client:
        for i in range(7):
            client.get("/<b>bold", fields=[("X-Request-Id", f"l-{i}")])
    wait_until(lambda: len(t.ask_json("/slow")["slow"]) == 7, "all are kept")
    wait_until(lambda: sum(cause["requests"] for cause in t.ask_json(
        "/live.json")["causes"]) == 7, "all are explained")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay) as relay:
        relay.admin = t
        threading.Thread(target=relay.serve_forever, daemon=True).start()
        t.url = f"http://127.0.0.1:{relay.server_port}/live"
        yield t
        relay.shutdown()


def open_live(page, url):
    page.open(url)
    wait_until(lambda: not page.evaluate("document.querySelector('main')"
                                         ".hidden"), "it is drawn")


def with_tail(page, change):
    """Change what live.json says (j), and wait until its tail is drawn."""
    page.evaluate("""(() => {
        const real = fetch;
        window.fetch = async (...where) => {
          const j = await (await real(...where)).json();
          %s
          return new Response(JSON.stringify(j));
        };
      })()""" % change)
    wait_until(lambda: not page.evaluate(
        "document.getElementById('tailpart').hidden"), "it is drawn")


def test_live(live, page):
    # Goal: the page draws what live.json says; links lead to timelines; what got
    # in all the same could neither run nor talk to others.
    open_live(page, live.url)
    assert texts(page, "#lead")[0].startswith(
        "7 of 7 requests in the last ten minutes were slow (the limit is now "
        "0 us); ")
    assert texts(page, "#servers td:first-child") == [
        "active (active)" + live.config["servers"][0]["address"],
        "backup" + live.config["servers"][1]["address"]]
    assert texts(page, "#pauses .name") == [
        "requests/s", "latency", "sent again", "active", "backup"]
    assert sum(int(t.split()[0]) for t in texts(page, "#pauses .heat title")
               ) == 7
    assert "was active" in texts(page, "#pauses .active title")[0]
    assert len(texts(page, "#pauses a")) == 7
    fills = page.evaluate("[...document.querySelectorAll('#key svg')]"
                          ".map((e) => getComputedStyle(e).fill)")
    assert len(fills) == len(texts(page, "#key li")) > 6
    assert "rgb(0, 0, 0)" not in fills, "each kind has a colour of the page's"
    assert sum(map(int, texts(page, "#causes td:nth-child(4)"))) == 7
    assert texts(page, "#slow code") == ["GET /<b>bold"] * 7
    assert sum(map(int, texts(page, "#latency text[y]:nth-child(3n + 2)"))
               ) == 7
    assert page.evaluate("document.querySelectorAll('#slow b').length") == 0
    assert page.evaluate(
        "[...document.querySelectorAll('#slow a, #pauses a')]"
        ".map((e) => e.getAttribute('href'))") == 2 * [
            f"timeline/l-{i}?format=html" for i in range(6, -1, -1)]
    assert page.errors == []
    cannot_run(page)
    page.evaluate("document.querySelector('#slow a').click()")
    wait_until(lambda: texts(page, "#verdict"), "the timeline is there")


def test_live_tail(live, page):
    # Goal: p99 of each minute is a stack of causes that add up to it, the
    # largest at the bottom, what nothing explains in grey.
    open_live(page, live.url)
    assert page.evaluate("document.getElementById('tailpart').hidden")
    part = ('{{cause: "{}", words: "<{}>", unexplained: {}, '
            'share_ns: {}}}').format
    with_tail(page, """
        j.tail = [
          {ended_ago_ns: 61e9, p99_ns: 4e6, few: true, causes: [%s]},
          {ended_ago_ns: 1e9, p99_ns: 8e6, few: false, causes: [%s, %s]}];""" % (
            part("unknown", "none", "true", 4e6),
            part("gc", "gc", "false", 7e6),
            part("unknown", "none", "true", 1e6)))
    assert texts(page, "#tail title") == ["<none>: 4 ms", "<gc>: 7 ms",
                                          "<none>: 1 ms"]
    assert texts(page, "#tail .unexplained.few title") == ["<none>: 4 ms"]
    assert texts(page, "#tailkey li") == ["<gc>", "<none>"]
    boxes = page.evaluate("[...document.querySelectorAll('#tail rect')].map("
                          "(r) => ['x', 'y', 'width', 'height'].map((a) =>"
                          " Number(r.getAttribute(a))))")
    few, gc, rest = boxes
    assert gc[0] == rest[0] > few[0] and gc[1] == rest[1] + rest[3]
    assert gc[1] + gc[3] == few[1] + few[3]
    assert round(gc[3] / rest[3], 6) == 7
    assert page.errors == []


def test_live_renews_itself(live, page):
    # Goal: what happens is shown, and that there is no tailor any more; the
    # focus stays.
    open_live(page, live.url)
    page.evaluate("document.querySelector('#slow a').focus()")
    for kind in "gc", "safepoint":
        hazard = f"/pause?server=active&kind={kind}&state="
        live.ask(hazard + "begin", method="POST")
        wait_until(lambda k=kind: [k, ""] == texts(
            page, "#servers td:nth-child(3)"), "it is a hazard of the server")
        (title,) = texts(page, f"#pauses .{kind} title")
        assert title.startswith(f"active: {kind} (") and "so far" in title
        live.ask(hazard + "end", method="POST")
        wait_until(lambda k=kind: "so far" not in texts(
            page, f"#pauses .{k} title")[0], "it has ended")
    assert page.evaluate("document.activeElement.getAttribute('href')") == \
        "timeline/l-6?format=html"
    assert page.evaluate("document.activeElement.closest('[id]').id") == "slow"
    assert page.errors == []
    live.stop()
    wait_until(lambda: "No figures" in texts(page, "#error")[0], "it is said")
    assert page.evaluate("document.title") == "Tailor (no response)"
    assert len(texts(page, "#slow code")) == 7


def test_live_without_its_script(live, page):
    # Goal: it says so, and where the figures are.
    page.scripts(False)
    page.open(live.url)
    assert "needs JavaScript" in texts(page, "noscript")[0]
    assert page.evaluate("document.querySelector('noscript a').href"
                         ) == live.url + ".json"
    assert page.evaluate("document.querySelector('main')"
                         ".getBoundingClientRect().height") == 0
    assert page.errors == []


# --- in a window of 1280, of 800 and of 400 pixels -------------------------------
# No page is wider than the window, no word is smaller than 12 pixels, is cut off
# or lies on another.

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
def test_width_of_a_timeline(pages, page, name):
    # Goal: the page of `why --html`.
    for width in WIDTHS:
        assert look(page, width, (pages / f"{name}.html").as_uri()) == GOOD
        assert page.errors == []


def test_width_of_blame(ctl, page, tmp_path):
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


def test_width_of_the_live_page(live, page):
    # Goal: the live page, with a tail; and as it is after the window changed.
    page.resize(WIDTHS[-1], 900)
    open_live(page, live.url)
    with_tail(page, """
        j.tail = [...Array(10).keys()].map((n) => ({
          ended_ago_ns: 1e9 + n * 60e9, p99_ns: 84.4e6, few: false,
          causes: [{cause: "gc", words: "garbage collection",
                    share_ns: 84.4e6}]}));
        j.latency.forEach((b) => { b.requests = 123456; });
        j.servers[0].name = "a-server-of-a-long-name";""")
    assert page.evaluate(LOOK) == GOOD
    for other in WIDTHS:
        page.resize(other, 900)
        page.frame()
        assert page.evaluate(LOOK) == GOOD
    assert page.errors == []


@pytest.mark.long("its figures are measured, and how wide they are with them")
def test_width_of_a_load_report(build, page, stub, tmp_path):
    # Goal: the page of tailor-load.
    server = stub(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    out = pathlib.Path(tmp_path) / "out"
    ran(build / "tailor-load", "-r", "200", "-d", "1s", "--iterations", "2",
        "--out", out, server.url)
    for width in WIDTHS:
        assert look(page, width, (out / "report.html").as_uri()) == GOOD
