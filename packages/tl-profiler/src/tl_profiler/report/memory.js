"use strict";
// Blocks are [bytes, begin, end or null, line, module, stack].
const d = JSON.parse(document.getElementById("data").textContent);
const BYTES = 0, BEGIN = 1, END = 2, LINE = 3, MODULE = 4, STACK = 5;

function size(bytes) {
  let n = Math.abs(bytes), unit = 0;
  while (n >= 1024 && unit < 4) { n /= 1024; ++unit; }
  return (bytes < 0 ? "-" : "") + (unit ? n.toFixed(2) : n.toFixed(0)) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
}
function time(us) { return us >= 1e6 ? (us / 1e6).toFixed(3) + " s" : us >= 1e3 ? (us / 1e3).toFixed(3) + " ms" : us.toFixed(0) + " µs"; }
function element(tag, text, parent) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}
function color(text) {
  let h = 0;
  for (let i = 0; i < text.length; ++i) h = (h * 31 + text.charCodeAt(i)) >>> 0;
  return `hsl(${h % 360} 55% ${52 + (h >> 9) % 14}%)`;
}

// ---- held memory at each change, by the largest groups
function changes(blocks) {
  const found = [];
  blocks.forEach((b, i) => { found.push([b[BEGIN], b[BYTES], i]); if (b[END] !== null) found.push([b[END], -b[BYTES], i]); });
  return found.sort((a, b) => a[0] - b[0]);
}
const steps = changes(d.blocks);
let peak = 0, peakAt = 0;
{ let held = 0; for (const [at, bytes] of steps) { held += bytes; if (held > peak) { peak = held; peakAt = at; } } }

let chosen = peakAt, by = LINE;
function keyOf(b) { return by === LINE ? d.lines[b[LINE]] : d.modules[b[MODULE]] || "outside modules"; }
function aliveAt(t) { return d.blocks.filter(b => b[BEGIN] <= t && (b[END] === null || b[END] > t)); }
function groups(blocks) {
  const found = new Map();
  for (const b of blocks) {
    const key = keyOf(b), s = found.get(key) || {key, bytes: 0, count: 0, most: 0, stack: b[STACK]};
    s.bytes += b[BYTES];
    ++s.count;
    if (b[BYTES] > s.most) { s.most = b[BYTES]; s.stack = b[STACK]; }
    found.set(key, s);
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes);
}

function draw() {
  const canvas = document.getElementById("memory"), scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth || 800, height = 260;
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const g = canvas.getContext("2d"), style = getComputedStyle(document.body);
  g.scale(scale, scale);
  const top = groups(aliveAt(peakAt)).slice(0, 12).map(s => s.key), index = new Map(top.map((k, i) => [k, i]));
  const held = new Float64Array(top.length + 1), columns = Math.max(1, Math.floor(width));
  const rows = [];
  let k = 0;
  for (let x = 0; x < columns; ++x) {
    const until = (x + 1) / columns * d.duration_us;
    let most = held.slice(), total = sum(held);
    for (; k < steps.length && steps[k][0] <= until; ++k) {
      const at = index.get(keyOf(d.blocks[steps[k][2]]));
      held[at === undefined ? top.length : at] += steps[k][1];
      const now = sum(held);
      if (now > total) { total = now; most = held.slice(); }
    }
    rows.push(most);
  }
  rows.forEach((most, x) => {
    let y = height;
    most.forEach((bytes, i) => {
      const h = bytes / Math.max(peak, 1) * (height - 24);
      g.fillStyle = i < top.length ? color(top[i]) : style.getPropertyValue("--dim");
      g.fillRect(x, y - h, 1, h);
      y -= h;
    });
  });
  g.fillStyle = style.getPropertyValue("--ink");
  g.font = "11px system-ui, sans-serif";
  const x = chosen / d.duration_us * width;
  g.fillRect(x, 0, 1, height);
  g.fillText(`${time(chosen)}: ${size(sum(aliveAt(chosen).map(b => b[BYTES])))}`, Math.min(x + 4, width - 140), 12);
  for (const [at] of d.failures) { g.fillStyle = "#d33"; g.fillRect(at / d.duration_us * width, 0, 2, height); }
}
function sum(values) { let s = 0; for (const v of values) s += v; return s; }

let filter = "";
function show() {
  draw();
  const box = document.getElementById("tables");
  box.replaceChildren();
  element("h3", chosen === peakAt ? "Alive at the peak" : `Alive at ${time(chosen)}`, box);
  const table = element("table", undefined, box), head = element("tr", undefined, element("thead", undefined, table));
  for (const title of [by === LINE ? "Line" : "Module", "Bytes", "Blocks", "Largest"]) element("th", title, head);
  const body = element("tbody", undefined, table);
  for (const s of groups(aliveAt(chosen)).filter(s => s.key.toLowerCase().includes(filter)).slice(0, 300)) {
    const tr = element("tr", undefined, body);
    for (const text of [s.key, size(s.bytes), String(s.count), size(s.most)]) element("td", text, tr);
    tr.title = d.stacks[s.stack];
  }
  for (const [at, bytes, stack] of d.failures) element("p", `At ${time(at)}, ${size(bytes)} could not be had.\n${stack}`, box);
}

const nav = document.querySelector("nav");
for (const [title, value] of [["By line", LINE], ["By module", MODULE]]) {
  const button = element("button", title, nav);
  button.setAttribute("role", "tab");
  button.setAttribute("aria-selected", value === by);
  button.onclick = () => {
    by = value;
    for (const b of nav.querySelectorAll("button")) b.setAttribute("aria-selected", b === button);
    show();
  };
}
const search = element("input", undefined, nav);
search.type = "search";
search.placeholder = "search";
search.oninput = () => { filter = search.value.toLowerCase(); show(); };
document.getElementById("memory").onclick = e => { chosen = e.offsetX / e.target.clientWidth * d.duration_us; show(); };
document.getElementById("facts").textContent = `peak ${size(peak)} at ${time(peakAt)} · ${d.blocks.length} blocks`;
window.addEventListener("resize", draw);
show();
document.body.dataset.ready = "1";
