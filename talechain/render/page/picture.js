/*
 * picture.js: puts the picture's elements where a view has them.
 *
 * The picture is complete without scripts: bars, arrows and segments are
 * elements that carry their times (data-b, data-e, ns).  Here they are found
 * and moved; timeline.js decides what is shown.  Folding and the places of
 * labels follow picture.c and drawing_lanes.c.
 */
const picture = (function () {
"use strict";

const svg = document.querySelector("svg.picture");
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
  work: el.classList.contains("work"),
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
const points = all(".curve .point").map((el) => ({
  el, b: number(el, "b"), e: number(el, "e"),
}));
const usual = all(".curve .usual");

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

/*
 * What is shown: an interval of time; whether quiet stretches are folded; the
 * index of a segment that is marked, or -1; an interval that is measured.
 */
const state = { view: { a: 0, b: total }, folding: true, piece: -1,
                ruler: null };

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
  if (!state.folding) return [];
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
  folds = foldsOf(state.view);
  let shown = state.view.b - state.view.a;
  for (const f of folds) shown -= f.b - f.a;
  scale = (right - left - folds.length * FOLD) / shown;
  warp = [];
  let x = left, a = state.view.a;
  const put = (b, w, folded) => {
    warp.push({ a, b, x, w, folded });
    x += w;
    a = b;
  };
  for (const f of folds) {
    put(f.a, (f.a - a) * scale, false);
    put(f.b, FOLD, true);
  }
  put(state.view.b, (state.view.b - a) * scale, false);
}

function xOf(t) {
  if (t < state.view.a) return left + (t - state.view.a) * scale;
  for (const p of warp)
    if (t <= p.b) return p.x + p.w * (p.b > p.a ? (t - p.a) / (p.b - p.a) : 0);
  return right + (t - state.view.b) * scale;
}

function tOf(x) {
  if (x < left) return state.view.a + (x - left) / scale;
  for (const p of warp)
    if (x <= p.x + p.w) return p.a + (p.b - p.a) * (x - p.x) / (p.w || 1);
  return state.view.b + (x - right) / scale;
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
const moment = (ns) => {
  const digits = state.view.b - state.view.a < 2e4 ? 6 : 3;
  return (ns / 1e6).toFixed(digits) + " ms";
};

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
    x.out = x.e < state.view.a || x.b > state.view.b;
    x.el.setAttribute("display", x.out ? "none" : "inline");
    if (x.out) continue;
    x.x1 = clampX(xOf(x.b));
    x.x2 = Math.max(x.x1 + 2.5, clampX(xOf(x.e)));
    for (const r of x.rects)
      set(r, { x: x.x1.toFixed(2), width: (x.x2 - x.x1).toFixed(2) });
  }
}

function drawCurves() {
  for (const p of points) {
    const out = p.e <= state.view.a || p.b >= state.view.b;
    p.el.setAttribute("display", out ? "none" : "inline");
    if (out) continue;
    const x1 = clampX(xOf(p.b)), x2 = clampX(xOf(p.e));
    set(p.el, { x: x1.toFixed(2), width: Math.max(1, x2 - x1).toFixed(2) });
  }
  for (const e of usual)
    e.setAttribute("d", e.getAttribute("d").replace(/H.*/, "H" + right));
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

/* Arrows that end at no bar are in the way of labels in the first row. */
function clearOfArrows(x, taken) {
  let before = taken, after = x.after;
  for (const a of arrows) {
    if (a.to || a.l !== x.l || Math.abs(a.y2 - x.y) > BAR) continue;
    const to = xOf(a.e), from = Math.min(xOf(a.b), to - HEAD);
    if (from >= x.x2) after = Math.min(after, from);
    if (to + HEAD + 4 <= x.x1) before = Math.max(before, to + HEAD + 4);
  }
  return [before, after];
}

/* In the bar, else right or left of it, else nowhere; returns its end. */
function placeLabel(x, taken) {
  const met = arrows.some((a) => a.to === x && Math.abs(xOf(a.e) - x.x1) < HEAD)
    ? HEAD + 4 : 0;
  const [before, after] = clearOfArrows(x, taken);
  const inside = taken > x.x1 ? 0 : Math.min(x.x2, x.after) - x.x1;
  const texts = x.delay ? [x.n + " " + span(x.e - x.b), x.n] : [x.n];
  let place = "", text = "", at = 0, end = 0;
  for (text of texts) {
    const width = measureText(text) + 10;
    if (inside >= width) {
      place = "in";
      at = x.x1 + 5;
    } else if (after >= x.x2 + width && taken <= x.x2) {
      place = "out";
      at = x.x2 + 4;
      end = x.x2 + width;
    } else if (x.x1 - before >= width + met) {
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
  const kind = x.delay ? " d" : x.work ? " w" : " u";
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
  const on = x2 - x1;
  if (on >= 12 && (on <= 60 || on > 2 * Math.abs(a.y2 - a.y1))) {
    const y = a.y2 + way * BAR / 2;
    return [`M${x(x1)} ${a.y1}V${y - way * 4}Q${x(x1)} ${y} ${x(x1 + 4)} ${y}` +
      `H${x(x2 - HEAD)}`, x2, y, 1, 0];
  }
  const bend = (a.y2 - way * HEAD - a.y1) / 2;
  return [`M${x(x1)} ${a.y1}C${x(x1)} ${a.y1 + bend} ${x(x2)} ` +
    `${a.y2 - way * HEAD - bend} ${x(x2)} ${a.y2 - way * HEAD}`,
    x2, a.y2, 0, way];
}

/* What an arrow that ends at no bar points at. */
const dot = (x, y) =>
  `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0`;

function drawArrows() {
  for (const a of arrows) {
    const out = Math.max(a.b, a.e) < state.view.a ||
      Math.min(a.b, a.e) > state.view.b;
    a.el.setAttribute("display", out ? "none" : "inline");
    if (out) continue;
    const [line, x, y, dx, dy] =
      arrowShape(a, clampX(xOf(a.b)), clampX(xOf(a.e)));
    const bx = x - dx * HEAD, by = y - dy * HEAD, h = HEAD / 2;
    for (const path of a.el.querySelectorAll(".halo, .line, .hit"))
      path.setAttribute("d", line);
    a.el.querySelector(".head").setAttribute("d",
      `M${bx - dy * h} ${by + dx * h}L${x} ${y}L${bx + dy * h} ${by - dx * h}` +
      (a.flow ? "z" : "") + (a.to ? "" : dot(x + dx * 4, y + dy * 4)));
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
      const last = x > right - 30, before = last ? 52 : 26;
      if (folds.some((f) => x > xOf(f.a) - 26 && x < xOf(f.b) + before))
        continue;
      make("path", parts.axis, { d: `M${x} ${top - 5}V${bottom}` });
      const text = make("text", parts.axis, { x, y: top - 9,
        class: last ? "last" : "" });
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
  const whole = state.view.a <= 0 && state.view.b >= total;
  set(windowPart, { x: left + room * state.view.a / total,
    width: Math.max(2, room * (state.view.b - state.view.a) / total),
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
  const piece = segments[state.piece];
  interval(piecePart, piece && { a: piece.b, b: piece.e });
  const middle = interval(rulerPart, state.ruler);
  rulerText.setAttribute("display", state.ruler ? "inline" : "none");
  if (state.ruler) {
    set(rulerText, { x: middle, y: bottom - 6 });
    rulerText.textContent = span(Math.abs(state.ruler.b - state.ruler.a));
  }
}

let waiting = false;
let after = null;

/* Draw with the next frame. */
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
  drawCurves();
  drawArrows();
  drawFolds();
  drawAxis();
  drawLabels();
  drawWindow();
  drawMarks();
  if (after) after();
}

function resize() {
  const width = Math.max(640, Math.floor(svg.parentElement.clientWidth));
  right = width - 16;
  set(svg, { width, viewBox: `0 0 ${width} ${height}` });
  for (const r of svg.querySelectorAll(".lane .paper"))
    r.setAttribute("width", width);
  drawBudget();
  drawNow();
}

/* Begin to move; then() is called whenever something has been drawn. */
function begin(then) {
  after = then;
  svg.classList.add("live");
  addEventListener("resize", resize);
  resize();
}

return { svg, bars, arrows, segments, state, total, left, top, bottom, LEAST,
         right: () => right, scale: () => scale, set, tOf, clampX, span,
         moment, cursor, cursorText, draw, drawMarks, begin };
})();
