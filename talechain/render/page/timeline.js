/*
 * timeline.js: lets a person move the picture of a page.
 *
 * Keys, buttons and pointer change what picture.js shows, or select a bar, an
 * arrow or a segment.  Nothing is fetched; text is set as text, never as
 * markup.
 */
(function () {
"use strict";

const { svg, bars, arrows, segments, state, total, left, top, bottom, LEAST,
        right, scale, set, tOf, clampX, span, moment, cursor, cursorText,
        draw, drawMarks, begin } = picture;
const $ = (id) => document.getElementById(id);

let selected = null;        /* a bar, an arrow or a segment */
let rulerFrom = null;       /* moment where measuring began by key */
let measuring = false;
let theme = "";

/* --- moving ------------------------------------------------------------------ */

function show(a, b) {
  const n = Math.max(LEAST, Math.min(total, b - a));
  const middle = (a + b) / 2;
  if (b - a < n) a = middle - n / 2;
  a = Math.max(0, Math.min(total - n, a));
  state.view = { a, b: a + n };
  draw();
}

function zoom(factor, x) {
  if (x === undefined) x = (left + right()) / 2;
  x = clampX(x);
  show(tOf(x - (x - left) * factor), tOf(x + (right() - x) * factor));
}

/* By a share of what is seen; a fold counts as it looks. */
function pan(share) {
  const dx = share * (right() - left), n = state.view.b - state.view.a;
  const a = dx < 0 ? state.view.a + dx / scale() : tOf(left + dx);
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
  if (x.b > state.view.b || x.e < state.view.a) {
    const n = state.view.b - state.view.a, middle = (x.b + x.e) / 2;
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
  if (rulerFrom !== null) state.ruler = { a: rulerFrom, b: x.b };
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
  state.piece = (state.piece + 1) % segments.length;
  select(segments[state.piece]);
  say(`piece ${state.piece + 1} of ${segments.length}: ` +
    segments[state.piece].words);
}

function clear() {
  if (svg.classList.contains("searching")) { $("search").value = ""; search(); }
  else if (state.ruler || rulerFrom !== null || measuring) measureEnd();
  else { state.piece = -1; select(null); }
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
  state.ruler = rulerFrom = null;
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
    state.ruler = { a: selected.b, b: selected.e };
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

function gaps() {
  state.folding = !state.folding;
  pressed("gaps", state.folding);
  draw();
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
  if (state.view.a > 0 || state.view.b < total)
    p.push(`v=${Math.round(state.view.a)},${Math.round(state.view.b)}`);
  if (selected && selected.i !== undefined) p.push("sel=" + selected.i);
  if (!state.folding) p.push("gaps=0");
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
  state.folding = p.get("gaps") !== "0";
  pressed("gaps", state.folding);
  themeSet(["light", "dark"].includes(p.get("theme")) ? p.get("theme") : "");
  state.view = { a: 0, b: total };
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
  gaps,
  flow: () => layer("flow"), wake: () => layer("wake"),
  delay: () => layer("delay"), other: () => layer("other"),
  measure, theme: themeNext, clear,
  search: () => { $("search").focus(); $("search").select(); },
  help: () => $("keys").showModal(),
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
  drag = { kind, x, view: { ...state.view }, scale: scale(), moved: false,
           t: tOf(x) };
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
    state.ruler = { a: drag.t, b: tOf(clampX(x)) };
    drawMarks();
  } else {
    const t = (at) => total * (clampX(at) - left) / (right() - left);
    show(Math.min(t(drag.x), t(x)), Math.max(t(drag.x), t(x)));
  }
});
addEventListener("pointerup", (event) => {
  const d = drag;
  drag = null;
  svg.classList.remove("dragging");
  if (d && d.moved && d.kind === "measure")
    say("measured: " + span(Math.abs(state.ruler.b - state.ruler.a)) +
      ", from " + moment(Math.min(state.ruler.a, state.ruler.b)));
  if (!d || d.moved) return;
  const x = thing(event);
  if (!x) return;
  select(x, { quiet: true });
  if (segments.includes(x)) {
    state.piece = segments.indexOf(x);
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
  const inside = x >= left && x <= right();
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
document.body.classList.add("live-rows");
$("tools").hidden = false;
addressRead();
addEventListener("hashchange", () => {
  if (location.hash !== address) addressRead();
});
begin(addressWrite);
})();
