"use strict";
// ---- the data: columns of numbers behind a JSON head
const KIND = {OPERATOR: 0, NODE: 1, EVALUATION: 2, RANGE: 3, MODULE: 4, CALL: 5, NATIVE_CALL: 6, MEMORY: 7, RESULTS: 8, MARK: 9};
async function unpack(text, compressed) {
  const binary = atob(text);
  let bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  if (!compressed) return bytes.buffer;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return await new Response(stream).arrayBuffer();
}

async function load() {
  const head = JSON.parse(document.getElementById("head").textContent);
  const buffer = await unpack(document.getElementById("data").textContent.trim(), head.compressed);
  const bytes = new Uint8Array(buffer), columns = {};
  let at = 0;
  for (const [name, width, coding] of head.columns) {
    columns[name] = decode(bytes.subarray(at, at + width * head.count), width, coding);
    at += width * head.count;
  }
  for (const name of ["start", "duration"]) columns[name] = columns[name].map(ns => ns / 1e3);
  return {...head, ...columns};
}

// The numbers of a column: its lowest bytes come first, then the next ones. `report/events.py` writes them.
function decode(bytes, width, coding) {
  const count = bytes.length / width, values = new Float64Array(count);
  for (let k = 0; k < width; ++k)
    for (let i = 0, unit = 256 ** k, from = k * count; i < count; ++i) values[i] += unit * bytes[from + i];
  if (coding === "plain") return values;
  for (let i = 0; i < count; ++i) {
    const n = values[i] % 2 ? -(values[i] + 1) / 2 : values[i] / 2;
    values[i] = coding === "zigzag" ? n : coding === "distances" ? i - n : n + (i ? values[i - 1] : 0);
  }
  return values;
}

// ---- words
function time(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(3) + " s";
  if (us >= 1e3) return (us / 1e3).toFixed(3) + " ms";
  return us.toFixed(3) + " µs";
}
function size(bytes) {
  const sign = bytes < 0 ? "-" : "";
  let n = Math.abs(bytes), unit = 0;
  while (n >= 1024 && unit < 4) { n /= 1024; ++unit; }
  return sign + (unit ? n.toFixed(2) : n.toFixed(0)) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
}
function color(text) {
  let h = 0;
  for (let i = 0; i < text.length; ++i) h = (h * 31 + text.charCodeAt(i)) >>> 0;
  return `hsl(${h % 360} 55% ${52 + (h >> 9) % 14}%)`;
}
function element(tag, text, parent) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (parent) parent.appendChild(e);
  return e;
}

// ---- sums
function isTimed(kind) { return kind !== KIND.MEMORY && kind !== KIND.RESULTS; }
function isShown(kind) { return kind <= KIND.RANGE; }

// Time of each event without that of events inside it, of the same family: functions apart from operators.
function selfTimes(d) {
  const own = Float64Array.from(d.duration);
  for (let i = 0; i < d.count; ++i) {
    if (!isShown(d.kind[i])) continue;
    let p = d.parent[i];
    while (p >= 0 && !isShown(d.kind[p])) p = d.parent[p];
    if (p >= 0) own[p] -= d.duration[i];
  }
  return own;
}

function sums(d, keyOf) {
  const found = new Map();
  for (let i = 0; i < d.count; ++i) {
    const key = keyOf(i);
    if (key === null) continue;
    let s = found.get(key);
    if (!s) found.set(key, s = {key, count: 0, total: 0, own: 0, most: 0, memory: 0});
    if (d.kind[i] === KIND.MEMORY) { s.memory += d.bytes[i]; continue; }
    ++s.count;
    s.total += d.duration[i];
    s.own += d.own[i];
    s.most = Math.max(s.most, d.duration[i]);
  }
  return [...found.values()].filter(s => s.count || s.memory);
}

function byOperator(d) {
  return sums(d, i => isShown(d.kind[i]) ? d.names[d.name[i]] : d.kind[i] === KIND.MEMORY ? ownerName(d, i) : null);
}
function ownerName(d, i) {
  let p = d.parent[i];
  while (p >= 0 && !isShown(d.kind[p])) p = d.parent[p];
  return p >= 0 ? d.names[d.name[p]] : "[memory]";
}
function moduleOf(d, i) {
  const path = [];
  for (let p = i; p >= 0; p = d.parent[p])
    if (d.kind[p] === KIND.MODULE) path.unshift(d.names[d.name[p]].replace("nn.Module: ", ""));
  return path.join(" › ");
}
function byModule(d) {
  const cache = new Map();
  const of = i => {
    let p = i;
    while (p >= 0 && d.kind[p] !== KIND.MODULE) p = d.parent[p];
    if (p < 0) return null;
    if (!cache.has(p)) cache.set(p, moduleOf(d, p));
    return cache.get(p);
  };
  return sums(d, i => d.kind[i] === KIND.MODULE || isShown(d.kind[i]) || d.kind[i] === KIND.MEMORY ? of(i) : null)
    .map(s => ({...s, total: s.total, own: s.own}));
}
function lineOf(d, i) { return d.lines[d.stack[i]] || null; }
function byLine(d) {
  return sums(d, i => {
    if (d.kind[i] !== KIND.MEMORY && !isShown(d.kind[i])) return null;
    const line = lineOf(d, i);
    if (line === null) return null;
    const p = d.parent[i];
    return d.kind[i] !== KIND.MEMORY && p >= 0 && isShown(d.kind[p]) && lineOf(d, p) === line ? null : line;
  });
}

// ---- tables
class Table {
  constructor(page, columns, rows, empty) {
    this.columns = columns;
    this.rows = rows;
    this.sorted = 1;
    this.down = true;
    this.filter = "";
    this.limit = 300;
    const box = element("div", undefined, page);
    box.className = "scroll";
    if (!rows.length) { element("p", empty, box).className = "none"; return; }
    this.table = element("table", undefined, box);
    const head = element("tr", undefined, element("thead", undefined, this.table));
    this.heads = columns.map((c, i) => {
      const th = element("th", c.title, head);
      th.tabIndex = 0;
      th.onclick = () => this.sort(i);
      th.onkeydown = e => { if (e.key === "Enter") this.sort(i); };
      return th;
    });
    this.body = element("tbody", undefined, this.table);
    this.show();
  }
  sort(i) {
    this.down = this.sorted === i ? !this.down : i > 0;
    this.sorted = i;
    this.show();
  }
  search(text) {
    this.filter = text.toLowerCase();
    this.show();
  }
  show() {
    if (!this.body) return;
    const value = this.columns[this.sorted].value;
    const rows = this.rows.filter(r => !this.filter || r.key.toLowerCase().includes(this.filter));
    rows.sort((a, b) => {
      const x = value(a), y = value(b), order = x < y ? -1 : x > y ? 1 : 0;
      return this.down ? -order : order;
    });
    const most = Math.max(...rows.map(r => typeof value(r) === "number" ? value(r) : 0), 1e-9);
    this.body.replaceChildren();
    for (const r of rows.slice(0, this.limit)) {
      const tr = element("tr", undefined, this.body);
      this.columns.forEach((c, i) => {
        const td = element("td", undefined, tr);
        if (i === this.sorted && i > 0) {
          const bar = element("span", undefined, td);
          bar.className = "bar";
          bar.style.width = Math.max(0, 60 * value(r) / most) + "px";
        }
        td.append(c.text(r));
        if (i === 0) td.title = r.key;
      });
    }
    this.heads.forEach((th, i) =>
      th.setAttribute("aria-sort", i !== this.sorted ? "none" : this.down ? "descending" : "ascending"));
  }
}
function timeColumns(first, memory) {
  const columns = [
    {title: first, value: r => r.key, text: r => r.key},
    {title: "Self time", value: r => r.own, text: r => time(r.own)},
    {title: "Total time", value: r => r.total, text: r => time(r.total)},
    {title: "Calls", value: r => r.count, text: r => String(r.count)},
    {title: "Mean", value: r => r.count ? r.total / r.count : 0, text: r => time(r.count ? r.total / r.count : 0)},
    {title: "Longest", value: r => r.most, text: r => time(r.most)},
  ];
  if (memory) columns.push({title: "Memory", value: r => r.memory, text: r => size(r.memory)});
  return columns;
}

// ---- the time line
class TimeLine {
  constructor(d, canvas, detail) {
    Object.assign(this, {d, canvas, detail, filter: "", matches: null, chosen: -1, begin: 0, span: Math.max(d.duration_us, 1)});
    this.colors = d.names.map(color);
    this.rows = this.layout();
    this.wire();
    this.draw();
  }
  layout() {
    const d = this.d, depth = new Uint16Array(d.count), rows = [];
    const threads = d.threads.map(() => []);
    for (let i = 0; i < d.count; ++i) {
      if (!isTimed(d.kind[i])) continue;
      const p = d.parent[i];
      depth[i] = p >= 0 ? depth[p] + 1 : 0;
      const lanes = threads[d.thread[i]];
      while (lanes.length <= depth[i]) lanes.push([]);
      lanes[depth[i]].push(i);
    }
    threads.forEach((lanes, t) => {
      if (!lanes.some(l => l.length)) return;
      rows.push({title: `thread ${d.threads[t][0]} (${d.threads[t][1]})`});
      for (const lane of lanes) rows.push({events: Uint32Array.from(lane)});
    });
    const others = new Map();
    d.extra.forEach((e, i) => others.has(e[0]) ? others.get(e[0]).push(i) : others.set(e[0], [i]));
    for (const [process, list] of others) rows.push({title: `process ${process}`}, {extra: list});
    return rows;
  }
  first(events, t) {  // the first event that ends after t
    const d = this.d;
    let low = 0, high = events.length;
    while (low < high) {
      const mid = (low + high) >> 1, i = events[mid];
      if (d.start[i] + d.duration[i] < t) low = mid + 1; else high = mid;
    }
    return low;
  }
  after(events, from, t) {  // the first event from there on that begins at t or later
    let low = from, high = events.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.d.start[events[mid]] < t) low = mid + 1; else high = mid;
    }
    return low;
  }
  draw() {
    const scale = window.devicePixelRatio || 1, width = this.canvas.clientWidth || 800, high = 18;
    const height = Math.max(60, 24 + this.rows.length * high);
    this.canvas.style.height = height + "px";
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const g = this.canvas.getContext("2d");
    g.scale(scale, scale);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const style = getComputedStyle(document.body);
    const ink = style.getPropertyValue("--ink"), dim = style.getPropertyValue("--dim");
    this.ruler(g, width, height, dim, style.getPropertyValue("--line"));
    this.rows.forEach((row, r) => {
      const y = 24 + r * high;
      if (row.title) { g.fillStyle = dim; g.fillText(row.title, 4, y + high / 2); }
      if (row.events) this.lane(g, row.events, y, high - 2, width, ink);
      if (row.extra) this.extra(g, row.extra, y, high - 2, width);
    });
  }
  ruler(g, width, height, dim, line) {
    const rough = this.span / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough);
    g.fillStyle = dim;
    g.strokeStyle = line;
    for (let t = Math.ceil(this.begin / step) * step; t < this.begin + this.span; t += step) {
      const x = (t - this.begin) / this.span * width;
      g.beginPath(); g.moveTo(x, 0); g.lineTo(x, height); g.stroke();
      g.fillText(time(t), x + 3, 10);
    }
  }
  lane(g, events, y, high, width, ink) {
    const d = this.d, perPixel = this.span / width, end = this.begin + this.span;
    for (let k = this.first(events, this.begin); k < events.length;) {
      const i = events[k], start = d.start[i];
      if (start > end) break;
      const x = (start - this.begin) / perPixel, w = d.duration[i] / perPixel;
      const dull = this.matches && !this.matches[d.name[i]];
      g.globalAlpha = dull ? 0.15 : 1;
      g.fillStyle = this.colors[d.name[i]];
      g.fillRect(x, y, Math.max(w, 1), high);
      if (i === this.chosen) { g.strokeStyle = ink; g.lineWidth = 2; g.strokeRect(x, y, Math.max(w, 2), high); g.lineWidth = 1; }
      if (w > 30) {
        g.save();
        g.beginPath(); g.rect(Math.max(x, 0), y, w, high); g.clip();
        g.fillStyle = "#10151b";
        g.fillText(d.names[d.name[i]], Math.max(x, 0) + 3, y + high / 2);
        g.restore();
      }
      k = w >= 1 ? k + 1 : this.beyond(events, k, start + perPixel);
    }
    g.globalAlpha = 1;
  }
  beyond(events, k, t) {  // the next event that ends after t: the last that begins before t may be long
    const next = this.after(events, k + 1, t), last = events[next - 1];
    return next - 1 > k && this.d.start[last] + this.d.duration[last] > t ? next - 1 : next;
  }
  extra(g, list, y, high, width) {
    for (const i of list) {
      const [, name, , start, duration] = this.d.extra[i];
      const x = (start - this.begin) / this.span * width;
      g.fillStyle = color(name.replace(/\d+/g, ""));
      g.fillRect(x, y, Math.max(duration / this.span * width, 1), high);
    }
  }
  zoom(factor, at) {
    const t = this.begin + this.span * at;
    this.span = Math.min(Math.max(this.span * factor, 0.01), this.d.duration_us * 1.2 + 1);
    this.begin = t - this.span * at;
    this.redraw();
  }
  fit() { this.begin = 0; this.span = Math.max(this.d.duration_us, 1); this.redraw(); }
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }
  search(text) {
    const wanted = text.toLowerCase();
    this.matches = wanted ? this.d.names.map(n => n.toLowerCase().includes(wanted)) : null;
    this.redraw();
  }
  at(x, y) {
    const row = this.rows[Math.floor((y - 24) / 18)];
    if (!row || !row.events) return -1;
    const t = this.begin + this.span * x / this.canvas.clientWidth, i = row.events[this.first(row.events, t)];
    return i !== undefined && this.d.start[i] <= t + this.span / this.canvas.clientWidth * 2 ? i : -1;
  }
  choose(i) {
    this.chosen = i;
    const d = this.d;
    if (i < 0) { this.detail.textContent = ""; return; }
    const lines = [d.names[d.name[i]], `began ${time(d.start[i])}, took ${time(d.duration[i])}, itself ${time(d.own[i])}`];
    const module = moduleOf(d, i);
    if (module) lines.push("in " + module);
    for (const frame of d.stacks[d.stack[i]] || []) lines.push("  " + frame);
    this.detail.textContent = lines.join("\n");
    this.redraw();
  }
  wire() {
    const c = this.canvas;
    c.addEventListener("wheel", e => {
      e.preventDefault();
      const at = e.offsetX / c.clientWidth;
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { this.begin += e.deltaX / c.clientWidth * this.span; this.redraw(); }
      else this.zoom(e.deltaY > 0 ? 1.25 : 0.8, at);
    }, {passive: false});
    let from = null;
    c.addEventListener("pointerdown", e => { from = {x: e.offsetX, begin: this.begin, moved: false}; c.setPointerCapture(e.pointerId); });
    c.addEventListener("pointermove", e => {
      if (!from) return;
      from.moved = from.moved || Math.abs(e.offsetX - from.x) > 3;
      if (from.moved) { this.begin = from.begin - (e.offsetX - from.x) / c.clientWidth * this.span; this.redraw(); }
    });
    c.addEventListener("pointerup", e => { if (from && !from.moved) this.choose(this.at(e.offsetX, e.offsetY)); from = null; });
    window.addEventListener("resize", () => this.redraw());
  }
}

// ---- memory
function memoryCurve(d) {
  const order = [];
  for (let i = 0; i < d.count; ++i) if (d.kind[i] === KIND.MEMORY) order.push(i);
  order.sort((a, b) => d.start[a] - d.start[b]);
  let held = 0, peak = 0, at = 0;
  const times = new Float64Array(order.length), sizes = new Float64Array(order.length);
  order.forEach((i, k) => {
    held += d.bytes[i];
    times[k] = d.start[i];
    sizes[k] = held;
    if (held > peak) { peak = held; at = k; }
  });
  return {order, times, sizes, peak, at};
}
// The corners of the curve, which is flat between changes. Changes within half a pixel have one corner for the least and
// one for the most memory.
function stepPoints(curve, x) {
  const points = [];
  let last = 0;
  for (let k = 0; k < curve.times.length;) {
    const px = x(curve.times[k]);
    points.push([px, last]);
    let low = last, high = last;
    for (; k < curve.times.length && x(curve.times[k]) < px + 0.5; ++k) {
      last = curve.sizes[k];
      low = Math.min(low, last);
      high = Math.max(high, last);
    }
    points.push([px, high], [px, low], [px, last]);
  }
  return points;
}
function drawMemory(curve, canvas, span) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth || 800, height = 220;
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const g = canvas.getContext("2d"), style = getComputedStyle(document.body);
  g.scale(scale, scale);
  const low = Math.min(0, ...chunked(curve.sizes, Math.min)), high = Math.max(curve.peak, low + 1);
  const y = v => height - 16 - (v - low) / (high - low) * (height - 36);
  const x = t => t / span * width;
  g.fillStyle = style.getPropertyValue("--mark");
  g.globalAlpha = 0.6;
  g.beginPath();
  g.moveTo(0, y(0));
  for (const [px, size] of stepPoints(curve, x)) g.lineTo(px, y(size));
  g.lineTo(width, y(curve.sizes.length ? curve.sizes[curve.sizes.length - 1] : 0));
  g.lineTo(width, y(0));
  g.fill();
  g.globalAlpha = 1;
  g.fillStyle = style.getPropertyValue("--ink");
  g.font = "11px system-ui, sans-serif";
  if (curve.times.length) g.fillText(`peak ${size(curve.peak)} at ${time(curve.times[curve.at])}`, Math.min(x(curve.times[curve.at]) + 4, width - 200), 14);
}
function chunked(values, f) {
  const found = [];
  for (let i = 0; i < values.length; i += 10000) found.push(f(...values.subarray(i, i + 10000)));
  return found;
}
// What was allocated and not given back when the most was held, by line and module.
function atPeak(d, curve) {
  const live = new Map(), groups = new Map();
  for (let k = 0; k <= curve.at && k < curve.order.length; ++k) {
    const i = curve.order[k];
    if (d.bytes[i] > 0) live.set(d.address[i], i); else live.delete(d.address[i]);
  }
  for (const i of live.values()) {
    const key = [lineOf(d, i) || ownerName(d, i), moduleOf(d, i)].filter(Boolean).join(" · ");
    const s = groups.get(key) || {key, bytes: 0, count: 0, most: 0};
    s.bytes += d.bytes[i];
    s.most = Math.max(s.most, d.bytes[i]);
    ++s.count;
    groups.set(key, s);
  }
  return [...groups.values()];
}

// ---- the page
// A value that is computed when it is needed, or before, when the page has nothing to do.
function early(compute) {
  let value;
  const get = () => value ??= compute();
  (window.requestIdleCallback || setTimeout)(get);
  return get;
}
function largest(d, curve) {
  return curve.order.filter(i => d.bytes[i] > 0).sort((a, b) => d.bytes[b] - d.bytes[a]).slice(0, 1000)
    .map(i => ({key: `${lineOf(d, i) || "?"} · ${ownerName(d, i)}`, bytes: d.bytes[i], at: d.start[i]}));
}
function show(d) {
  const main = document.querySelector("main"), nav = document.querySelector("nav"), tables = [];
  const hasMemory = d.kind.includes(KIND.MEMORY), curve = memoryCurve(d);
  const operators = early(() => byOperator(d)), modules = early(() => byModule(d)), lines = early(() => byLine(d));
  const held = early(() => atPeak(d, curve)), allocations = early(() => largest(d, curve));
  let line = null;
  const pages = {
    "Operators": page => tables.push(new Table(page, timeColumns("Operator", hasMemory), operators(), "Nothing ran.")),
    "Modules": page => tables.push(new Table(page, timeColumns("Module", hasMemory), modules(), "No modules were recorded: with_modules=True records them.")),
    "Lines": page => tables.push(new Table(page, timeColumns("Line", hasMemory), lines(), "No stacks were recorded: with_stack=True records them.")),
    "Time line": page => {
      const tools = element("div", undefined, page);
      tools.className = "tools";
      const button = (text, f) => { element("button", text, tools).onclick = f; };
      const canvas = element("canvas", undefined, page), detail = element("div", undefined, page);
      canvas.id = "timeline";
      detail.id = "detail";
      line = new TimeLine(d, canvas, detail);
      button("+", () => line.zoom(0.5, 0.5));
      button("−", () => line.zoom(2, 0.5));
      button("whole", () => line.fit());
      element("span", "wheel: zoom · drag: move · click: details", tools);
    },
    "Memory": page => {
      if (!hasMemory) { element("p", "No memory was recorded: profile_memory=True records it.", page).className = "none"; return; }
      const canvas = element("canvas", undefined, page);
      canvas.id = "memory";
      drawMemory(curve, canvas, Math.max(d.duration_us, 1));
      element("h3", "Alive at the peak", page);
      tables.push(new Table(page, [
        {title: "Where", value: r => r.key, text: r => r.key},
        {title: "Bytes", value: r => r.bytes, text: r => size(r.bytes)},
        {title: "Blocks", value: r => r.count, text: r => String(r.count)},
        {title: "Largest", value: r => r.most, text: r => size(r.most)},
      ], held(), "Nothing was held."));
    },
    "Allocations": page => {
      tables.push(new Table(page, [
        {title: "Where", value: r => r.key, text: r => r.key},
        {title: "Bytes", value: r => r.bytes, text: r => size(r.bytes)},
        {title: "When", value: r => r.at, text: r => time(r.at)},
      ], allocations(), "No memory was recorded: profile_memory=True records it."));
    },
  };
  const sections = [];
  for (const [title, build] of Object.entries(pages)) {
    const section = element("section", undefined, main), button = element("button", title, nav);
    section.hidden = true;
    section.id = title.toLowerCase().replace(" ", "-");
    button.setAttribute("role", "tab");
    const open = () => {
      sections.forEach(s => { s.section.hidden = s.section !== section; s.button.setAttribute("aria-selected", s.section === section); });
      if (!section.dataset.made) { section.dataset.made = "1"; build(section); search(); }
    };
    button.onclick = open;
    sections.push({section, button, open});
  }
  const box = element("input", undefined, nav);
  box.type = "search";
  box.placeholder = "search";
  const search = () => { tables.forEach(t => t.search(box.value)); if (line) line.search(box.value); };
  box.oninput = search;
  sections[0].open();
}

load().then(d => {
  d.own = selfTimes(d);
  show(d);
  document.body.dataset.ready = "1";
}).catch(error => { document.querySelector("main").textContent = "This page cannot be shown: " + error; throw error; });
