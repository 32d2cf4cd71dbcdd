/*
 * live.js: draws /live.json, again every two seconds.
 *
 * Names, targets and ids come from outside: they become the text of an
 * element, or are escaped in a path, and are never markup.
 */
(function () {
"use strict";

const LEFT = 90, LANE = 34, TOP = 10, BAR = LANE - 12;
const RATE = 44, CELL = 9, GAP = 12, NARROW = 480, NAME = 12, LABEL = 58;

/* Charts are drawn in pixels, so that text is as large as elsewhere. */
let WIDTH = 900;

const $ = (id) => document.getElementById(id);
const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);

/* --- elements -------------------------------------------------------------- */

function fill(e, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    e.setAttribute(name, value);
  /* Only printable ASCII: other characters could change a line's look. */
  e.append(...children.map((c) =>
    c instanceof Node ? c : String(c).replace(/[^ -~]/g, "?")));
  return e;
}

function html(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name),
              attributes, children);
}

const cell = (...children) => html("td", {}, ...children);
const number = (text) => html("td", { class: "n" }, text);
const soft = (...children) => html("span", { class: "soft" }, ...children);

function rows(id, list, empty) {
  if (list.length === 0)
    list = [html("tr", {}, html("td", { class: "soft", colspan: 9 }, empty))];
  $(id).replaceChildren(...list);
  /* A narrow page has no heads of columns. */
  const heads = $(id).closest("table").querySelectorAll("th");
  for (const td of $(id).querySelectorAll("td.n, td.named"))
    if (td.textContent !== "")
      td.dataset.name = heads[td.cellIndex].textContent;
}

/* The border is 1 pixel on each side. */
function chart(id, height, parts, width = WIDTH) {
  fill($(id), { viewBox: `0 0 ${width} ${height}`, width: width + 2,
                height: height + 2 }, []);
  $(id).replaceChildren(...parts);
}

/* In the column left of a chart; what is too long is set narrower. */
function name(text, y) {
  const room = text.length > NAME
    ? { textLength: LEFT - 14, lengthAdjust: "spacingAndGlyphs" } : {};
  return svg("text", { class: "name", x: 8, y, ...room }, text);
}

/* --- words ----------------------------------------------------------------- */

/* "813 us", "41.2 ms", "3.1 s", "2.5 min" */
function duration(ns) {
  const digits = (x) => Number(x.toPrecision(3));
  if (ns < 1e6) return `${Math.round(ns / 1e3)} us`;
  if (ns < 1e9) return `${digits(ns / 1e6)} ms`;
  if (ns < 120e9) return `${digits(ns / 1e9)} s`;
  return `${(ns / 60e9).toFixed(1)} min`;
}

const percent = (part, all) =>
  `${Math.round(all > 0 ? 100 * part / all : 0)} %`;
const agoNs = (j, r) => Math.max(0, (j.unix_ms - r.finished_unix_ms) * 1e6);
const timeline = (r) => `timeline/${encodeURIComponent(r.id)}?format=html`;

/* --- parts of the page ----------------------------------------------------- */

function drawLead(j) {
  const [worst] = j.causes;
  $("about").textContent = `version ${j.version}, mode ${j.mode}, up ` +
    `${duration(j.uptime_ns)}, ${j.finished} requests since the start, ` +
    `${j.inflight} in flight`;
  $("lead").textContent = `${j.slow_requests} of ${j.requests} requests in ` +
    `the last ten minutes were slow (the limit is now ${
      duration(j.target_ns)})` +
    (worst ? `; the largest cause: ${worst.words} (${
      percent(worst.lost_ns, sum(j.causes, (c) => c.lost_ns))}).` : ".");
  $("unexamined").textContent = j.unexamined === 0 ? "" :
    `${j.unexamined} slow requests have no timeline: ` +
    "tailorctl slow lists them with the reason.";
}

function drawServers(j) {
  rows("servers", j.servers.map((s) => html("tr", {},
    cell(s.name, s.active ? html("b", {}, " (active)") : "", html("br", {}),
         soft(s.address)),
    html("td", { class: s.state === "down" ? "bad" : "good" }, s.state),
    html("td", { class: "named" }, html("b", {}, s.pauses.join(" "))),
    html("td", { class: "named" },
         s.source === "pidfd" ? "its end only" : s.source),
    number(s.inflight), number(duration(s.p50_ns)), number(duration(s.p95_ns)),
    number(duration(s.p99_ns)), number(s.restarts), number(s.errors))));
}

/* All that happened, over one axis of time: from top to bottom the rate, the
 * latencies, what was sent again, the servers' pauses. */
function drawHazards(j) {
  const x = (ago) => LEFT + (WIDTH - LEFT) *
    (1 - Math.min(1, Math.max(0, ago / j.window_ns)));
  const parts = [];
  let y = TOP;
  const slices = j.slices.map((s) => {
    const from = x(s.began_ago_ns), to = x(s.began_ago_ns - j.slice_ns);
    const ns = Math.min(j.slice_ns, s.began_ago_ns);
    return { ...s, from, width: Math.max(1, to - from),
             rate: s.requests / Math.max(1, ns / 1e9) };
  });

  const fastest = Math.max(1, ...slices.map((s) => s.rate));
  parts.push(name("requests/s", y + 16),
    svg("text", { x: 8, y: y + 32 },
        `up to ${Number(fastest.toPrecision(2))}`));
  for (const s of slices) {
    const high = RATE * s.rate / fastest;
    parts.push(svg("rect", { class: "rate", x: s.from, width: s.width,
                             y: y + RATE - high, height: high },
      svg("title", {}, `${Number(s.rate.toPrecision(3))} requests/s`)));
  }
  y += RATE + 2 * GAP;
  y = drawHeat(j, slices, x, y, parts) + GAP;

  parts.push(name("sent again", y + 16));
  const most = Math.max(1, ...slices.map((s) => s.again));
  for (const s of slices.filter((one) => one.again > 0)) {
    const high = 4 + (BAR - 4) * s.again / most;
    parts.push(svg("rect", { class: "again", x: s.from, width: s.width,
                             y: y + BAR - high, height: high },
      svg("title", {}, `${s.again} requests sent to a second server`)));
  }
  y += LANE;

  const lanes = y;
  j.servers.forEach((server, i) => {
    parts.push(name(server.name, y + 16));
    for (const s of slices.filter((one) => one.active === i))
      parts.push(svg("rect", { class: "active", x: s.from, width: s.width,
                               y: y + BAR + 3, height: 3 },
        svg("title", {}, `${server.name} was active`)));
    y += LANE;
  });
  const fills = Object.fromEntries(j.kinds.map((k) =>
    [k.kind, `var(--${k.colour})`]));
  $("key").replaceChildren(...j.kinds.map((k) => html("li", {},
    svg("svg", { viewBox: "0 0 1 1", fill: fills[k.kind] },
      svg("rect", { width: 1, height: 1 })), k.words)));
  /* A collection is a safepoint too: it is drawn last. */
  for (const h of [...j.pauses].sort((a, b) =>
         (a.kind === "gc") - (b.kind === "gc"))) {
    const end = h.ended_ago_ns ?? 0, from = x(h.began_ago_ns);
    /* A pause of a millisecond is a thousandth of a pixel. */
    const width = Math.max(2, x(end) - from);
    parts.push(svg("rect", { class: h.kind, fill: fills[h.kind], x: from,
                             width, height: BAR, y: lanes + h.server * LANE },
      svg("title", {}, `${j.servers[h.server].name}: ${h.kind} (${h.cause}), ` +
        duration(h.began_ago_ns - end) +
        (h.ended_ago_ns === undefined ? " so far" : "") +
        `, ${duration(h.began_ago_ns)} ago`)));
  }

  const minutes = WIDTH < NARROW ? [10, 5, 0] : [10, 8, 6, 4, 2, 0];
  const axis = minutes.flatMap((m) => {
    const at = x(m * 60e9);
    const anchor = m === 0 ? "end" : m === 10 ? "start" : "middle";
    return [svg("line", { x1: at, x2: at, y1: 0, y2: y }),
      svg("text", { x: at, y: y + 15, "text-anchor": anchor },
          m === 0 ? "now" : `-${m} min`)];
  });
  chart("pauses", y + 22, [...axis, ...parts]);
}

/* A cell for each slice and latency, and a point for each slow request that was
 * kept.  Returns the lower end. */
function drawHeat(j, slices, x, y, parts) {
  const kept = j.slow.filter((r) =>
    agoNs(j, r) <= j.window_ns && r.reason === "target");
  const edges = j.latency.map((b) => b.to_ns ?? Infinity);
  const bucket = (ns) => edges.findIndex((edge) => ns <= edge);
  const used = [...edges.keys()].filter((i) => j.latency[i].requests > 0);
  for (const r of kept) used.push(bucket(r.total_ns));
  parts.push(name("latency", y - 8));
  if (used.length === 0)
    return y + LANE;
  const low = Math.min(...used), high = Math.max(...used);
  const top = (i) => y + (high - i) * CELL;
  const most = Math.max(...slices.flatMap((s) => s.latency));
  for (let i = low; i <= high; i++) {
    if ((i - low) % 3 === 0 && edges[i] !== Infinity)
      parts.push(svg("text", { x: LEFT - 6, y: top(i) + 4,
                               "text-anchor": "end" }, duration(edges[i])));
    for (const s of slices.filter((one) => one.latency[i] > 0))
      parts.push(svg("rect", { class: "heat", x: s.from, width: s.width,
                               y: top(i), height: CELL,
                               opacity: 0.12 + 0.88 *
                                 Math.sqrt(s.latency[i] / most) },
        svg("title", {}, `${s.latency[i]} requests` +
          (edges[i] === Infinity ? "" : ` under ${duration(edges[i])}`))));
  }
  for (const r of kept)
    parts.push(svg("a", { href: timeline(r) },
      svg("circle", { class: "over", cx: x(agoNs(j, r)), r: 4,
                      cy: top(bucket(r.total_ns)) + CELL / 2 },
        svg("title", {}, `${r.target}: ${duration(r.total_ns)}`))));
  return y + (high - low + 1) * CELL;
}

/* How full eden of each server was, and the swaps. */
function drawHeaps(j) {
  const span = 240 * j.heap_ns, wide = (WIDTH - LEFT) * j.heap_ns / span;
  const x = (h) => LEFT + (WIDTH - LEFT) *
    (1 - Math.min(1, Math.max(0, h.ago_ns / span)));
  const parts = [];
  $("eden").hidden = j.heaps.length === 0;
  j.servers.forEach((server, i) => {
    const known = j.heaps.filter((h) => h.percent[i] >= 0);
    const low = TOP + (i + 1) * (RATE + GAP) - GAP;
    const y = (h) => low - RATE * Math.min(100, h.percent[i]) / 100;
    parts.push(name(server.name, low - RATE + 12));
    if (known.length > 0)
      parts.push(svg("text", { x: 8, y: low - RATE + 28 },
                     `${known.at(-1).percent[i]} % full`));
    for (const h of known.filter((one) => one.active === i))
      parts.push(svg("rect", { class: "serving", x: x(h), width: wide + 0.5,
                               y: y(h), height: low - y(h) }));
    parts.push(svg("polyline", { class: "eden",
      points: known.map((h) => `${x(h)},${y(h)}`).join(" ") }));
    parts.push(svg("line", { x1: LEFT, x2: WIDTH, y1: low, y2: low }));
  });
  const height = TOP + j.servers.length * (RATE + GAP);
  j.heaps.forEach((h, n) => {
    if (n > 0 && h.active !== j.heaps[n - 1].active)
      parts.push(svg("line", { class: "swap", x1: x(h), x2: x(h),
                               y1: TOP, y2: height - GAP },
        svg("title", {}, `${j.servers[h.active].name} became active`)));
  });
  parts.push(svg("text", { x: LEFT, y: height + 8 }, "-60 s"),
    svg("text", { x: WIDTH, y: height + 8, "text-anchor": "end" }, "now"));
  chart("heaps", height + 14, parts);
}

/* p99 of each minute as a stack; the seven largest causes have a colour, what
 * nothing explains is grey. */
function drawTail(j) {
  const all = new Map(), high = 140, base = TOP + high;
  const wide = (WIDTH - LEFT) / 10, each = Math.ceil(LABEL / wide);
  const most = Math.max(1, ...j.tail.map((m) => m.p99_ns));
  for (const c of j.tail.flatMap((m) => m.causes))
    all.set(c.cause, { ...c, ns: (all.get(c.cause)?.ns ?? 0) + c.share_ns });
  const parts = [...all.values()].sort((a, b) => b.ns - a.ns)
    .map((c, i) => ({ ...c, style: c.unexplained ? "unexplained"
                                              : `part${Math.min(i, 7)}` }));
  const drawn = j.tail.flatMap((m) => {
    const ago = Math.floor(m.ended_ago_ns / 60e9), x = WIDTH - wide * (1 + ago);
    let y = base;
    return [...parts.flatMap((p) => {
      const ns = sum(m.causes.filter((c) => c.cause === p.cause),
                     (c) => c.share_ns);
      y -= high * ns / most;
      return ns === 0 ? [] : [svg("rect", {
        class: p.style + (m.few ? " few" : ""), x: x + 1, y,
        width: wide - 2, height: high * ns / most },
        svg("title", {}, `${p.words}: ${duration(ns)}`))];
    }), ...(ago % each > 0 ? [] : [
      svg("text", { x: Math.min(x + wide / 2, WIDTH - LABEL / 2), y: base + 15,
                    "text-anchor": "middle" }, duration(m.p99_ns))])];
  });
  $("tailpart").hidden = j.tail.length === 0;
  chart("tail", base + 22, [...drawn,
    name("p99", TOP + 12),
    svg("text", { x: 8, y: TOP + 28 }, `up to ${duration(most)}`)]);
  $("tailkey").replaceChildren(...parts.slice(0, 8).map((p, i) =>
    html("li", {}, svg("svg", { viewBox: "0 0 1 1", class: p.style },
      svg("rect", { width: 1, height: 1 })),
      i === 7 ? "other causes" : p.words)));
}

function drawCauses(j) {
  const lost = sum(j.causes, (c) => c.lost_ns);
  rows("causes", j.causes.map((c) => html("tr", {},
    cell(`${c.words} `, html("code", { class: "soft" }, c.cause)),
    number(duration(c.lost_ns)), number(percent(c.lost_ns, lost)),
    number(c.requests),
    cell(svg("svg", { viewBox: "0 0 300 14", "aria-hidden": true },
      svg("rect", { class: "bar", height: 14,
                    width: lost > 0 ? 300 * c.lost_ns / lost : 0 }))))),
    "No slow request was examined in the last ten minutes.");
}

function drawSlow(j) {
  rows("slow", j.slow.map((r) => html("tr", {},
    number(duration(r.total_ns)), number(duration(agoNs(j, r))),
    html("td", { class: "text" },
      html("a", { href: timeline(r) },
        html("code", {}, `${r.method} ${r.target}`)), html("br", {}),
      soft(r.status, r.winner === "" ? "" : `, ${r.winner}`,
        r.reason === "target" ? "" : `, kept: ${r.reason}`,
        r.earlier_boot ? ", from an earlier boot" : "")),
    html("td", { class: "text" }, r.verdict))), "None is kept.");
}

function drawLatency(j) {
  const used = j.latency.map((b) => b.requests > 0);
  const first = used.indexOf(true), last = used.lastIndexOf(true);
  const most = Math.max(1, ...j.latency.map((b) => b.requests));
  const many = last - first + 1, width = Math.max(WIDTH, many * LABEL);
  const wide = Math.min(120, width / many);
  if (first < 0) {
    chart("latency", 40, [svg("text", { x: 8, y: 24 }, "No requests.")]);
    return;
  }
  chart("latency", 170, j.latency.slice(first, last + 1).flatMap((b, i) => {
    const from = first + i === 0 ? 0 : j.latency[first + i - 1].to_ns;
    /* One request must be seen beside a million. */
    const high = b.requests === 0 ? 0 : 2 + 108 * b.requests / most;
    const text = { x: (i + 0.5) * wide, "text-anchor": "middle" };
    return [
      svg("rect", { class: from >= j.target_ns ? "over" : "bar",
                    x: i * wide + 3, y: 142 - high, width: wide - 6,
                    height: high }),
      svg("text", { ...text, y: 136 - high }, b.requests),
      svg("text", { ...text, y: 162 },
        b.to_ns === undefined ? "more" : `< ${duration(b.to_ns)}`)];
  }), width);
}

/* --- refreshing ------------------------------------------------------------ */

const draws = [drawLead, drawServers, drawHazards, drawHeaps, drawTail, drawCauses,
               drawSlow, drawLatency];

let shown; /* what is drawn, to draw it again if the window changes */

/* The link that has the focus is made again: it must not lose it. */
function draw(j) {
  const link = document.activeElement, href = link.getAttribute("href");
  const part = link.closest("[id]");
  document.querySelector("main").hidden = false;
  WIDTH = Math.max(300, $("pauses").parentElement.clientWidth - 2);
  shown = j;
  for (const one of draws) one(j);
  if (href !== null && !link.isConnected)
    [...part.querySelectorAll("a")].find((a) =>
      a.getAttribute("href") === href)?.focus({ preventScroll: true });
}

async function refresh() {
  try {
    const response = await fetch("live.json", { cache: "no-store" });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const j = await response.json();
    /* What is selected stays, to be copied. */
    if (getSelection().isCollapsed) draw(j);
    $("error").textContent = "";
  } catch (e) {
    $("error").textContent = `No figures from live.json (${e.message}). ` +
      "What is shown may be old.";
  }
  document.title = $("error").textContent === "" ? "Tailor"
                                                 : "Tailor (no response)";
  setTimeout(refresh, document.hidden ? 10000 : 2000);
}

addEventListener("resize", () => { if (shown) draw(shown); });
refresh();
})();
