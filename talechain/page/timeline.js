/*
 * timeline.js: makes the picture of a page move.
 *
 * The picture is complete without this script: bars, arrows and segments are
 * elements that carry their times (data-b, data-e, ns).  The script keeps a
 * view, an interval of time, and puts every element where the view has it.
 * Nothing is fetched; text is set as text, never as markup.
 */
(function () {
"use strict";

const svg = document.querySelector("svg.picture");
const $ = (id) => document.getElementById(id);
const all = (selector) => Array.from(svg.querySelectorAll(selector));
const number = (element, name) => Number(element.dataset[name]);
const set = (element, values) => {
  for (const name in values) element.setAttribute(name, values[name]);
};
const make = (name, parent, values) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(e, values);
  parent.appendChild(e);
  return e;
};

const total = Math.max(1, number(svg, "total"));
const left = number(svg, "left");
const top = number(svg, "top"), bottom = number(svg, "bottom");
const height = svg.viewBox.baseVal.height;
const FOLD = 64, FOLDS = 4, FOLD_SHARE = 0.6, FOLD_REST = 0.1;
const BAR = 20, HEAD = 9, LEAST = Math.min(total, 50);
let right = number(svg, "right");

/* --- what there is ------------------------------------------------------- */

const bars = all(".bars .bar").map((el) => ({
  el, i: number(el, "i"), b: number(el, "b"), e: number(el, "e"),
  l: number(el, "l"), y: number(el, "y"), n: el.dataset.n,
  rects: Array.from(el.querySelectorAll("rect")),
  words: el.getAttribute("aria-label"),
  other: el.classList.contains("other"),
  delay: el.classList.contains("delay"),
}));
const arrows = all(".arrows .arrow").map((el) => ({
  el, b: number(el, "b"), e: number(el, "e"), f: number(el, "f"),
  l: number(el, "l"), y1: number(el, "y1"), y2: number(el, "y2"),
  flow: el.classList.contains("flow"),
  words: el.querySelector("title").textContent,
}));
const segments = all(".budget .segment").map((el) => ({
  el, b: number(el, "b"), e: number(el, "e"),
  rects: Array.from(el.querySelectorAll("rect")),
  words: el.querySelector("title").textContent,
  cause: el.getAttribute("aria-label").replace(/, [^,]*$/, ""),
}));
const strips = all(".overview .body");

/* The innermost bar of a lane at a moment. */
function barAt(lane, t) {
  let best = null;
  for (const x of bars)
    if (x.l === lane && !x.other && x.b <= t && t <= x.e &&
        (!best || x.y > best.y || (x.y === best.y && x.b > best.b)))
      best = x;
  return best;
}
for (const a of arrows) {
  a.from = barAt(a.f, a.b);
  a.to = barAt(a.l, a.e);
}

/* --- state ----------------------------------------------------------------- */

const everything = { a: 0, b: total };
let view = { a: 0, b: total };
let folding = true;
let selected = null;        /* a bar, an arrow or a segment */
let piece = -1;             /* index of the current segment */
let ruler = null;           /* {a, b}: measured */
let rulerFrom = null;       /* moment where measuring began by key */
let measuring = false;
let theme = "";

/* --- time and place --------------------------------------------------------- */

const moments = (() => {
  const m = new Set([0, total]);
  const add = (t) => m.add(Math.min(total, Math.max(0, t)));
  for (const x of bars) if (!x.other) { add(x.b); add(x.e); }
  for (const x of arrows.concat(segments)) { add(x.b); add(x.e); }
  return Array.from(m).sort((p, q) => p - q);
})();

/* The quiet stretches of a view that are folded. */
function foldsOf(v) {
  if (!folding) return [];
  const m = [v.a, ...moments.filter((t) => t > v.a && t < v.b), v.b];
  const gaps = m.slice(1).map((t, i) => ({ a: m[i], b: t, n: t - m[i] }))
    .sort((p, q) => q.n - p.n);
  const folds = [];
  let rest = v.b - v.a;
  for (const g of gaps) {
    if (folds.length === FOLDS || g.n <= FOLD_SHARE * rest || g.n === rest)
      break;
    folds.push(g);
    rest -= g.n;
  }
  return folds.map((g) => ({ a: g.a + FOLD_REST * rest,
                             b: g.b - FOLD_REST * rest }))
    .sort((p, q) => p.a - q.a);
}

/* The view as pieces of one scale each: {a, b, x, w}. */
let warp = [];
let folds = [];
let scale = 1;

function warpMake() {
  folds = foldsOf(view);
  let shown = view.b - view.a;
  for (const f of folds) shown -= f.b - f.a;
  scale = (right - left - folds.length * FOLD) / shown;
  warp = [];
  let x = left, a = view.a;
  const put = (b, w, folded) => {
    warp.push({ a, b, x, w, folded });
    x += w;
    a = b;
  };
  for (const f of folds) {
    put(f.a, (f.a - a) * scale, false);
    put(f.b, FOLD, true);
  }
  put(view.b, (view.b - a) * scale, false);
}

function xOf(t) {
  if (t < view.a) return left + (t - view.a) * scale;
  for (const p of warp)
    if (t <= p.b) return p.x + p.w * (p.b > p.a ? (t - p.a) / (p.b - p.a) : 0);
  return right + (t - view.b) * scale;
}

function tOf(x) {
  if (x < left) return view.a + (x - left) / scale;
  for (const p of warp)
    if (x <= p.x + p.w) return p.a + (p.b - p.a) * (x - p.x) / (p.w || 1);
  return view.b + (x - right) / scale;
}

const clampX = (x) => Math.min(right, Math.max(left, x));

function span(ns) {
  const v = Math.abs(ns);
  for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]])
    if (v >= unit * 0.9995) {
      const n = ns / unit;
      return n.toFixed(Math.abs(n) < 9.995 ? 2 : Math.abs(n) < 99.95 ? 1 : 0) +
        " " + name;
    }
  return Math.round(ns) + " ns";
}
const moment = (ns) => (ns / 1e6).toFixed(view.b - view.a < 2e4 ? 6 : 3) +
  " ms";

/* --- drawing ------------------------------------------------------------------ */

const measureText = (() => {
  const context = document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(svg);
  const known = new Map();
  return (text) => {
    if (!known.has(text)) {
      context.font = "500 12px " + style.fontFamily;
      known.set(text, context.measureText(text).width);
    }
    return known.get(text);
  };
})();

const parts = {
  axis: svg.querySelector(".axis") || make("g", svg, { class: "axis" }),
  folds: svg.querySelector(".folds"),
  labels: svg.querySelector(".labels"),
  note: svg.querySelector(".scale") || make("text", svg,
    { class: "note scale", x: 16, y: top - 9 }),
};
const piecePart = make("rect", svg, { class: "piece", y: top,
  height: bottom - top, display: "none" });
const rulerPart = make("rect", svg, { class: "ruler", y: top - 4,
  height: bottom - top + 4, display: "none" });
const rulerText = make("text", svg, { class: "ruler-text", display: "none" });
const cursor = make("path", svg, { class: "cursor", display: "none" });
const cursorText = make("text", svg, { class: "cursor-text", y: top - 9,
  display: "none" });
const overview = svg.querySelector(".overview");
const windowPart = overview && make("rect", overview, { class: "window" });

for (const x of bars) {
  x.label = make("text", parts.labels, { y: x.y + BAR / 2 + 4 });
}
for (const e of Array.from(parts.labels.querySelectorAll("[data-i]")))
  e.remove();
for (const a of arrows) {
  a.hit = make("path", a.el, { class: "hit" });
  a.el.setAttribute("aria-label", a.words);
}
/* The tip says it at once; a second one from the viewer would be too much. */
for (const x of [...bars, ...arrows, ...segments])
  x.el.querySelector("title").remove();

function drawBars() {
  for (const x of bars) {
    x.out = x.e < view.a || x.b > view.b;
    x.el.setAttribute("display", x.out ? "none" : "inline");
    if (x.out) continue;
    x.x1 = clampX(xOf(x.b));
    x.x2 = Math.max(x.x1 + 2.5, clampX(xOf(x.e)));
    for (const r of x.rects)
      set(r, { x: x.x1.toFixed(2), width: (x.x2 - x.x1).toFixed(2) });
  }
}

/* Longest text that fits into width, or "". */
function cut(text, width) {
  if (measureText(text) <= width) return text;
  while (text.length > 3 && measureText(text + "\u2026") > width)
    text = text.slice(0, -1);
  return text.length > 3 ? text + "\u2026" : "";
}

/* Bars in order; each row remembers up to where it is taken. */
function drawLabels() {
  const shown = bars.filter((x) => !x.out);
  const next = new Map(), taken = new Map();
  for (const x of shown.slice().reverse()) {
    const key = x.l + "/" + x.y;
    x.after = next.has(key) ? next.get(key).x1 : right + 16;
    next.set(key, x);
  }
  for (const x of bars) x.label.setAttribute("display", "none");
  for (const x of shown) {
    const key = x.l + "/" + x.y, before = taken.get(key) || left;
    const end = x.other ? 0 : placeLabel(x, before);
    taken.set(key, Math.max(before, x.x2, end));
  }
}

/* In the bar, else right or left of it, else nowhere; returns its end. */
function placeLabel(x, taken) {
  const met = arrows.some((a) => a.to === x && Math.abs(xOf(a.e) - x.x1) < HEAD)
    ? HEAD + 4 : 0;
  const inside = taken > x.x1 ? 0 : Math.min(x.x2, x.after) - x.x1;
  const texts = x.delay ? [x.n + " " + span(x.e - x.b), x.n] : [x.n];
  let place = "", text = "", at = 0, end = 0;
  for (text of texts) {
    const width = measureText(text) + 10;
    if (inside >= width) {
      place = "in";
      at = x.x1 + 5;
    } else if (x.after >= x.x2 + width && taken <= x.x2) {
      place = "out";
      at = x.x2 + 4;
      end = x.x2 + width;
    } else if (x.x1 - taken >= width + met) {
      place = "before";
      at = x.x1 - 4 - met;
    } else continue;
    break;
  }
  if (!place && (text = cut(x.n, inside - 9))) {
    place = "in";
    at = x.x1 + 5;
  }
  if (!place) return 0;
  const kind = x.delay ? " d" : x.el.classList.contains("blind") ? " u" : "";
  const lit = (x.el.classList.contains("lit") ? " lit" : "") +
    (x.el.classList.contains("match") ? " match" : "");
  set(x.label, { x: at.toFixed(1), class: "label " + place + kind + lit,
    display: "inline" });
  x.label.textContent = text;
  return end;
}

/* The same three shapes as in the picture of the C code. */
function arrowShape(a, x1, x2) {
  const way = a.y2 < a.y1 ? -1 : 1, x = (n) => n.toFixed(1);
  if (a.f === a.l) {
    x2 = Math.max(x2, x1 + 12);
    return [`M${x(x1)} ${a.y1}C${x(x1)} ${a.y1 - 14} ${x(x2)} ${a.y2 - 14} ` +
      `${x(x2)} ${a.y2 - HEAD}`, x2, a.y2, 0, 1];
  }
  if (x2 - x1 >= 12 && x2 - x1 <= 60) {
    const y = a.y2 + way * BAR / 2;
    return [`M${x(x1)} ${a.y1}V${y - way * 4}Q${x(x1)} ${y} ${x(x1 + 4)} ${y}` +
      `H${x(x2 - HEAD)}`, x2, y, 1, 0];
  }
  const bend = (a.y2 - way * HEAD - a.y1) / 2;
  return [`M${x(x1)} ${a.y1}C${x(x1)} ${a.y1 + bend} ${x(x2)} ` +
    `${a.y2 - way * HEAD - bend} ${x(x2)} ${a.y2 - way * HEAD}`,
    x2, a.y2, 0, way];
}

function drawArrows() {
  for (const a of arrows) {
    const out = (a.b < view.a && a.e < view.a) || (a.b > view.b && a.e > view.b);
    a.el.setAttribute("display", out ? "none" : "inline");
    if (out) continue;
    const [line, x, y, dx, dy] =
      arrowShape(a, clampX(xOf(a.b)), clampX(xOf(a.e)));
    const bx = x - dx * HEAD, by = y - dy * HEAD, h = HEAD / 2;
    for (const path of a.el.querySelectorAll(".halo, .line, .hit"))
      path.setAttribute("d", line);
    a.el.querySelector(".head").setAttribute("d",
      `M${bx - dy * h} ${by + dx * h}L${x} ${y}L${bx + dy * h} ${by - dx * h}` +
      (a.flow ? "z" : ""));
  }
}

function drawFolds() {
  parts.folds.replaceChildren();
  for (const f of folds) {
    const x1 = xOf(f.a), x2 = xOf(f.b);
    const g = make("g", parts.folds, { class: "fold" });
    make("rect", g, { class: "paper", x: x1 + 2, y: top - 22,
      width: x2 - x1, height: bottom - top + 22 });
    for (const x of [x1, x2]) {
      let d = `M${x} ${top - 22}`;
      for (let y = top - 16, n = 0; y < bottom; y += 6, n++)
        d += `L${x + (n % 2 ? 0 : 4)} ${y}`;
      make("path", g, { class: "edge", d: d + `L${x} ${bottom}` });
    }
    make("text", g, { x: (x1 + x2) / 2 + 2, y: top - 9 })
      .textContent = span(f.b - f.a);
  }
  parts.note.textContent = folds.length ? "not to scale: folded" : "";
}

/* Numbers at 1, 2 or 5 times a power of ten, none of them on a fold. */
function drawAxis() {
  const wanted = 90 / scale, power = Math.pow(10, Math.floor(Math.log10(wanted)));
  const step = power * [1, 2, 5, 10].find((n) => n * power >= wanted);
  const unit = total >= 1e10 ? [1e9, "s"] : total >= 1e6 ? [1e6, "ms"] :
    [1e3, "\u00b5s"];
  const digits = Math.max(0, Math.min(6, Math.ceil(Math.log10(unit[0] / step) -
    1e-9)));
  parts.axis.replaceChildren();
  for (const p of warp) {
    if (p.folded) continue;
    for (let t = Math.ceil(p.a / step) * step; t <= p.b; t += step) {
      const x = xOf(t);
      if (folds.some((f) => x > xOf(f.a) - 26 && x < xOf(f.b) + 26)) continue;
      make("path", parts.axis, { d: `M${x} ${top - 5}V${bottom}` });
      const text = make("text", parts.axis, { x, y: top - 9,
        class: x > right - 30 ? "last" : "" });
      text.textContent = t === 0 ? "0" :
        (t / unit[0]).toFixed(digits) + " " + unit[1];
    }
  }
}

/* The budget and the overview always show everything. */
function drawBudget() {
  const room = right - left;
  const least = Math.min(2, room / 4 / Math.max(1, segments.length));
  const k = (room - least * segments.length) / total;
  let x = left;
  for (const s of segments) {
    const width = least + k * (s.e - s.b);
    for (const r of s.rects) set(r, { x, width });
    let text = s.el.querySelector("text");
    const words = [s.cause + " " + span(s.e - s.b), span(s.e - s.b)]
      .find((w) => measureText(w) * 1.08 + 8 < width);
    if (words && !text)
      text = make("text", s.el,
        { y: Number(s.rects[0].getAttribute("y")) + 18 });
    if (text) {
      text.textContent = words || "";
      text.setAttribute("x", x + width / 2);
    }
    x += width;
  }
  for (const r of strips) {
    const x1 = left + room * number(r, "b") / total;
    set(r, { x: x1,
      width: Math.max(1, room * (number(r, "e") - number(r, "b")) / total) });
  }
  if (overview)
    overview.querySelector(".paper").setAttribute("width", room);
}

function drawWindow() {
  if (!windowPart) return;
  const paper = overview.querySelector(".paper");
  const room = right - left;
  const whole = view.a <= 0 && view.b >= total;
  set(windowPart, { x: left + room * view.a / total,
    width: Math.max(2, room * (view.b - view.a) / total),
    y: paper.getAttribute("y"), height: paper.getAttribute("height"),
    display: whole ? "none" : "inline" });
}

function interval(part, v) {
  if (!v) { part.setAttribute("display", "none"); return null; }
  const x1 = clampX(xOf(Math.min(v.a, v.b)));
  const x2 = clampX(xOf(Math.max(v.a, v.b)));
  set(part, { x: x1, width: Math.max(1, x2 - x1), display: "inline" });
  return (x1 + x2) / 2;
}

function drawMarks() {
  interval(piecePart, piece >= 0 ? { a: segments[piece].b, b: segments[piece].e }
    : null);
  const middle = interval(rulerPart, ruler);
  rulerText.setAttribute("display", ruler ? "inline" : "none");
  if (ruler) {
    set(rulerText, { x: middle, y: bottom - 6 });
    rulerText.textContent = span(Math.abs(ruler.b - ruler.a));
  }
}

let waiting = false;
function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawNow();
  });
}
function drawNow() {
  warpMake();
  drawBars();
  drawArrows();
  drawFolds();
  drawAxis();
  drawLabels();
  drawWindow();
  drawMarks();
  addressWrite();
}

function resize() {
  const width = Math.max(640, Math.floor($("picture").clientWidth));
  right = width - 16;
  set(svg, { width, viewBox: `0 0 ${width} ${height}` });
  for (const r of svg.querySelectorAll(".lane .paper"))
    r.setAttribute("width", width);
  drawBudget();
  drawNow();
}

/* --- moving ------------------------------------------------------------------ */

function show(a, b) {
  const n = Math.max(LEAST, Math.min(total, b - a));
  const middle = (a + b) / 2;
  if (b - a < n) a = middle - n / 2;
  a = Math.max(0, Math.min(total - n, a));
  view = { a, b: a + n };
  draw();
}

function zoom(factor, x) {
  if (x === undefined) x = (left + right) / 2;
  x = clampX(x);
  show(tOf(x - (x - left) * factor), tOf(x + (right - x) * factor));
}

/* By a share of what is seen; a fold counts as it looks. */
function pan(share) {
  const dx = share * (right - left), n = view.b - view.a;
  const a = dx < 0 ? view.a + dx / scale : tOf(left + dx);
  show(a, a + n);
}

function fit() {
  const x = selected;
  if (!x) { show(0, total); return; }
  const a = Math.min(x.b, x.e), b = Math.max(x.b, x.e);
  const room = Math.max((b - a) * 0.15, LEAST / 2);
  show(a - room, b + room);
}

function reveal(x) {
  if (x.b > view.b || x.e < view.a) {
    const n = view.b - view.a, middle = (x.b + x.e) / 2;
    show(middle - n / 2, middle + n / 2);
  }
}

/* --- selecting ------------------------------------------------------------------ */

function say(text) { $("selection").textContent = text; }

function litClear() {
  svg.classList.remove("tracing");
  for (const e of svg.querySelectorAll(".lit")) e.classList.remove("lit");
}

/* An arrow and both its ends stand out, everything else steps back. */
function trace(list) {
  litClear();
  if (!list.length) return;
  svg.classList.add("tracing");
  for (const a of list)
    for (const x of [a, a.from, a.to])
      if (x) {
        x.el.classList.add("lit");
        if (x.label) x.label.classList.add("lit");
      }
}

function select(x, options) {
  for (const e of document.querySelectorAll(".selected"))
    e.classList.remove("selected");
  selected = x;
  if (!x) { say(""); draw(); return; }
  x.el.classList.add("selected");
  say("selected: " + x.words);
  if (x.i !== undefined) {
    for (const y of bars) y.el.setAttribute("tabindex", y === x ? "0" : "-1");
    const row = document.querySelector(`tr[data-i="${x.i}"]`);
    if (row) row.classList.add("selected");
  }
  if (rulerFrom !== null) ruler = { a: rulerFrom, b: x.b };
  if (!(options && options.quiet)) {
    reveal(x);
    if (x.el.focus) x.el.focus({ preventScroll: true });
  }
  draw();
}

function neighbour(step) {
  if (!selected || selected.i === undefined) { select(bars[0] || null); return; }
  const lane = bars.filter((x) => x.l === selected.l);
  const to = lane[lane.indexOf(selected) + step];
  if (to) select(to);
  else say("nothing " + (step > 0 ? "later" : "earlier") + " on this lane");
}

/* Whether a bar is x itself or lies within x on the same lane. */
const within = (y, x) => y && y.l === x.l && y.b >= x.b && y.e <= x.e;

function follow(forward) {
  if (!selected || selected.i === undefined) { select(bars[0] || null); return; }
  const x = selected;
  const list = arrows.filter((a) => forward
    ? within(a.from, x) && a.to && !within(a.to, x)
    : within(a.to, x) && a.from && !within(a.from, x));
  list.sort((p, q) => q.flow - p.flow || (forward ? q.b - p.b : p.e - q.e));
  if (!list.length) {
    say("no arrow " + (forward ? "leaves from" : "comes") + " here");
    return;
  }
  select(forward ? list[0].to : list[0].from);
  say((forward ? "to" : "from") + ": " + selected.words + " (" +
    list[0].words + ")");
}

function nextPiece() {
  if (!segments.length) return;
  piece = (piece + 1) % segments.length;
  select(segments[piece]);
  say(`piece ${piece + 1} of ${segments.length}: ` + segments[piece].words);
}

function clear() {
  if (svg.classList.contains("searching")) { $("search").value = ""; search(); }
  else if (ruler || rulerFrom !== null || measuring) measureEnd();
  else { piece = -1; select(null); }
  if (document.activeElement && document.activeElement.blur)
    document.activeElement.blur();
  draw();
}

/* --- measuring, searching, layers -------------------------------------------------- */

function pressed(name, on) {
  const b = document.querySelector(`[data-do="${name}"]`);
  if (b) b.setAttribute("aria-pressed", String(on));
}

function measureEnd() {
  measuring = false;
  ruler = rulerFrom = null;
  svg.classList.remove("measuring");
  pressed("measure", false);
}

function measure() {
  if (measuring) { measureEnd(); draw(); return; }
  measuring = true;
  svg.classList.add("measuring");
  pressed("measure", true);
  if (selected) {
    rulerFrom = selected.b;
    ruler = { a: selected.b, b: selected.e };
    say("measuring from " + moment(rulerFrom) + "; select another, or drag");
  } else say("measuring: drag from one point to another");
  draw();
}

let found = [];
function search() {
  const words = $("search").value.trim().toLowerCase();
  svg.classList.toggle("searching", words !== "");
  found = words === "" ? [] :
    bars.filter((x) => x.words.toLowerCase().includes(words));
  for (const x of bars) {
    x.el.classList.toggle("match", found.includes(x));
    x.label.classList.toggle("match", found.includes(x));
  }
  $("found").textContent = words === "" ? "" :
    `${found.length} of ${bars.length}`;
}

function searchNext() {
  if (!found.length) return;
  select(found[(found.indexOf(selected) + 1) % found.length]);
  $("search").focus();
}

function layer(name) {
  const off = svg.classList.toggle("no-" + name);
  pressed(name, !off);
}

function themeSet(to) {
  theme = to;
  if (to) document.documentElement.dataset.theme = to;
  else delete document.documentElement.dataset.theme;
}

function themeNext() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["", "light", "dark"] : ["", "dark", "light"];
  themeSet(order[(order.indexOf(theme) + 1) % 3]);
  addressWrite();
}

/* --- copying ------------------------------------------------------------------------ */

function copyOld(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.appendChild(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

async function copy(text, what) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch (e) {
    done = copyOld(text);
  }
  say(done ? what + " copied" : "copying is not possible here");
}

function summary() {
  const lines = [$("verdict").textContent];
  for (const e of $("facts").children)
    lines.push((e.tagName === "DT" ? "" : "  ") + e.textContent);
  lines.push($("identity").textContent);
  return lines.join("\n") + "\n";
}

/* --- the address: #v=a,b&sel=i&gaps=0 ------------------------------------------------ */

let address = null;
function addressWrite() {
  const p = [];
  if (view.a > 0 || view.b < total)
    p.push(`v=${Math.round(view.a)},${Math.round(view.b)}`);
  if (selected && selected.i !== undefined) p.push("sel=" + selected.i);
  if (!folding) p.push("gaps=0");
  if (theme) p.push("theme=" + theme);
  const text = p.length ? "#" + p.join("&") : "";
  if (text === address) return;
  address = text;
  try {
    history.replaceState(null, "", text || location.pathname + location.search);
  } catch (e) { /* some viewers do not let a file change its address */ }
}

function addressRead() {
  const p = new URLSearchParams(location.hash.slice(1));
  const v = (p.get("v") || "").split(",").map(Number);
  folding = p.get("gaps") !== "0";
  pressed("gaps", folding);
  themeSet(["light", "dark"].includes(p.get("theme")) ? p.get("theme") : "");
  view = { ...everything };
  if (v.length === 2 && v.every(Number.isFinite) && v[0] < v[1])
    show(v[0], v[1]);
  const x = p.has("sel") && bars.find((y) => String(y.i) === p.get("sel"));
  select(x || null, { quiet: true });
}

/* --- keys, buttons, pointer ------------------------------------------------------------ */

const actions = {
  in: () => zoom(0.6), out: () => zoom(1 / 0.6),
  left: () => pan(-0.25), right: () => pan(0.25),
  all: () => show(0, total), fit,
  previous: () => neighbour(-1), following: () => neighbour(1),
  back: () => follow(false), along: () => follow(true), next: nextPiece,
  gaps: () => { folding = !folding; pressed("gaps", folding); draw(); },
  flow: () => layer("flow"), wake: () => layer("wake"),
  delay: () => layer("delay"), other: () => layer("other"),
  measure, theme: themeNext, clear,
  search: () => { $("search").focus(); $("search").select(); },
  help: () => { if ($("keys").open) $("keys").close(); else $("keys").showModal(); },
  copy: () => copy(summary(), "verdict"),
  data: () => copy($("data").textContent, "data"),
};
const keys = {
  w: "in", "+": "in", "=": "in", s: "out", "-": "out", a: "left", d: "right",
  0: "all", f: "fit", ",": "previous", ".": "following", "[": "back",
  "]": "along", n: "next", g: "gaps", 1: "flow", 2: "wake", 3: "delay",
  4: "other", t: "theme", "/": "search", m: "measure", "?": "help",
  Escape: "clear",
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (event.target === $("search")) {
    if (event.key === "Enter") searchNext();
    else if (event.key === "Escape") clear();
    return;
  }
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  actions[action]();
});
$("tools").addEventListener("click", (event) => {
  const b = event.target.closest("button");
  if (b) actions[b.dataset.do]();
});
$("search").addEventListener("input", search);

const place = (event) => event.clientX - svg.getBoundingClientRect().left;
const thing = (event) => {
  const g = event.target.closest && event.target.closest(".bar, .arrow, .segment");
  return g && svg.contains(g) &&
    [...bars, ...arrows, ...segments].find((x) => x.el === g);
};
const inOverview = (event) => event.target.closest &&
  (event.target.closest(".overview") || event.target.closest(".budget"));

function tip(event, x) {
  const e = $("tip");
  e.hidden = !x;
  if (!x) return;
  e.textContent = x.words;
  const w = e.offsetWidth;
  e.style.left = Math.max(4, Math.min(innerWidth - w - 4, event.clientX + 12)) +
    "px";
  e.style.top = event.clientY + 18 + "px";
}

let drag = null;
svg.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  const x = place(event), y = event.clientY - svg.getBoundingClientRect().top;
  const kind = inOverview(event) ? "choose" : y < top - 24 ? null :
    event.shiftKey || measuring ? "measure" : "pan";
  if (!kind) return;
  drag = { kind, x, view: { ...view }, scale, moved: false, t: tOf(x) };
});
addEventListener("pointermove", (event) => {
  const x = place(event);
  if (!drag) return;
  if (!drag.moved && Math.abs(x - drag.x) < 4) return;
  drag.moved = true;
  svg.classList.add("dragging");
  tip(event, null);
  if (drag.kind === "pan") {
    const dt = (drag.x - x) / drag.scale;
    show(drag.view.a + dt, drag.view.b + dt);
  } else if (drag.kind === "measure") {
    ruler = { a: drag.t, b: tOf(clampX(x)) };
    drawMarks();
  } else {
    const t = (at) => total * (clampX(at) - left) / (right - left);
    show(Math.min(t(drag.x), t(x)), Math.max(t(drag.x), t(x)));
  }
});
addEventListener("pointerup", (event) => {
  const d = drag;
  drag = null;
  svg.classList.remove("dragging");
  if (d && d.moved && d.kind === "measure")
    say("measured: " + span(Math.abs(ruler.b - ruler.a)) + ", from " +
      moment(Math.min(ruler.a, ruler.b)));
  if (!d || d.moved) return;
  const x = thing(event);
  if (!x) return;
  select(x, { quiet: true });
  if (segments.includes(x)) {
    piece = segments.indexOf(x);
    fit();
  }
});
svg.addEventListener("dblclick", (event) => { if (thing(event)) fit(); });
svg.addEventListener("focusin", (event) => {
  const x = thing(event);
  if (x && x !== selected) select(x, { quiet: true });
});
svg.addEventListener("pointermove", (event) => {
  if (drag) return;
  const x = place(event), t = tOf(x), over = thing(event);
  const inside = x >= left && x <= right;
  cursor.setAttribute("display", inside ? "inline" : "none");
  cursorText.setAttribute("display", inside ? "inline" : "none");
  set(cursor, { d: `M${x} ${top - 5}V${bottom}` });
  cursorText.setAttribute("x", x);
  cursorText.textContent = moment(t);
  tip(event, over);
  if (over && over.flow !== undefined) trace([over]);
  else if (over && over.i !== undefined)
    trace(arrows.filter((a) => a.from === over || a.to === over));
  else litClear();
});
svg.addEventListener("pointerleave", (event) => {
  cursor.setAttribute("display", "none");
  cursorText.setAttribute("display", "none");
  tip(event, null);
  litClear();
});
svg.addEventListener("wheel", (event) => {
  if (event.ctrlKey) {
    event.preventDefault();
    zoom(Math.exp(event.deltaY / 400), place(event));
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    pan(event.deltaX / 1000);
  }
}, { passive: false });
for (const row of document.querySelectorAll("tr[data-i]"))
  row.addEventListener("click", () =>
    select(bars.find((x) => String(x.i) === row.dataset.i)));

/* --- begin --------------------------------------------------------------------------- */

bars.forEach((x, i) => x.el.setAttribute("tabindex", i === 0 ? "0" : "-1"));
svg.classList.add("live");
document.body.classList.add("live-rows");
$("tools").hidden = false;
addressRead();
addEventListener("hashchange", () => {
  if (location.hash !== address) addressRead();
});
addEventListener("resize", resize);
resize();
})();
