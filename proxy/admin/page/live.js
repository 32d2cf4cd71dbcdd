/*
 * live.js: draws /live.json, again every two seconds.
 *
 * Names, targets and ids come from outside: they become the text of an
 * element, or are escaped in a path, and are never markup.
 */
(function () {
"use strict";

const WIDTH = 900, LEFT = 90, LANE = 34, TOP = 10, BAR = LANE - 12;

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
}

function chart(id, height, parts) {
  $(id).setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  $(id).replaceChildren(...parts);
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
    `the last ten minutes took over ${duration(j.target_ns)}` +
    (worst ? `; the largest cause: ${worst.words} (${
      percent(worst.lost_ns, sum(j.causes, (c) => c.lost_ns))}).` : ".");
  $("unexamined").textContent = j.unexamined === 0 ? "" :
    `${j.unexamined} slow requests were not examined: the queue was full.`;
}

function drawServers(j) {
  rows("servers", j.servers.map((s) => html("tr", {},
    cell(s.name, s.active ? html("b", {}, " (active)") : "", html("br", {}),
         soft(s.address)),
    html("td", { class: s.state === "down" ? "bad" : "good" }, s.state),
    cell(html("b", {}, s.hazards.join(" "))), cell(s.source),
    number(s.inflight), number(duration(s.p50_ns)), number(duration(s.p95_ns)),
    number(duration(s.p99_ns)), number(s.restarts), number(s.errors))));
}

function drawHazards(j) {
  const x = (ago) => LEFT + (WIDTH - LEFT) *
    (1 - Math.min(1, ago / j.window_ns));
  const y = (lane) => TOP + lane * LANE;
  const lanes = [...j.servers.map((s) => s.name), "slow"];
  const height = lanes.length * LANE + 30;
  const parts = [];
  for (const m of [10, 8, 6, 4, 2, 0]) {
    const at = x(m * 60e9);
    const anchor = m === 0 ? "end" : m === 10 ? "start" : "middle";
    parts.push(svg("line", { x1: at, x2: at, y1: 0, y2: height - 22 }),
      svg("text", { x: at, y: height - 7, "text-anchor": anchor },
          m === 0 ? "now" : `-${m} min`));
  }
  lanes.forEach((name, i) => parts.push(
    svg("text", { class: "name", x: 8, y: y(i) + 16 }, name)));
  for (const h of j.hazards) {
    const end = h.ended_ago_ns ?? 0, from = x(h.began_ago_ns);
    /* A pause of a millisecond is a thousandth of a pixel. */
    const width = Math.max(2, x(end) - from);
    parts.push(svg("rect", { class: h.kind, x: from, y: y(h.server), width,
                             height: BAR },
      svg("title", {}, `${lanes[h.server]}: ${h.kind} (${h.cause}), ` +
        duration(h.began_ago_ns - end) +
        (h.ended_ago_ns === undefined ? " so far" : "") +
        `, ${duration(h.began_ago_ns)} ago`)));
  }
  for (const r of j.slow) {
    const ago = agoNs(j, r);
    if (ago > j.window_ns || r.reason !== "target") continue;
    parts.push(svg("a", { href: timeline(r) },
      svg("rect", { class: "over", x: x(ago) - 1, y: y(lanes.length - 1),
                    width: 3, height: BAR },
        svg("title", {}, `${r.target}: ${duration(r.total_ns)}`))));
  }
  chart("hazards", height, parts);
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
  const wide = Math.min(120, WIDTH / (last - first + 1));
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
  }));
}

/* --- refreshing ------------------------------------------------------------ */

const draws = [drawLead, drawServers, drawHazards, drawCauses, drawSlow,
               drawLatency];

/* The link that has the focus is made again: it must not lose it. */
function draw(j) {
  const link = document.activeElement, href = link.getAttribute("href");
  const part = link.closest("[id]");
  for (const one of draws) one(j);
  document.querySelector("main").hidden = false;
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

refresh();
})();
