"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const PAGE = 200;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const ACTIONS = {
  add_tf_function: "add tf.function", remove_tf_function: "remove tf.function",
  tune_tf_function: "tune tf.function", co_execute: "co-execute", none: "none",
};

// --- totals ---------------------------------------------------------------------------------------------------------------

function card(title, value, before, lessIsBetter) {
  const shown = make("b", {}, String(value));
  if (before !== undefined && before !== value) {
    const better = lessIsBetter === null ? "" : (value < before) === lessIsBetter ? " better" : " worse";
    const change = value - before;
    shown.append(make("span", { class: "trend" + better }, (change > 0 ? "+" : "\u2212") + Math.abs(change)));
  }
  return make("div", { class: "card" }, shown, make("small", {}, title));
}

function showTotals() {
  const s = data.summary;
  const before = data.comparison ? data.comparison.totals : {};
  byId("headline").textContent =
    `${s.functions} functions in ${s.files} files, ${s.lines} lines, in ${s.seconds.toFixed(1)} s; version ${data.version}` +
    (data.comparison ? `; compared to ${data.comparison.name}` : "");
  const known = data.comparison ? data.comparison.known : 0;
  const all = data.findings.length + known;
  const cards = make("div", { class: "cards" },
    card("safe as graphs", s.safe, before.safe, false),
    card("speculative", s.speculative, before.speculative, null),
    card("unsafe", s.unsafe, before.unsafe, true),
    card("changes proposed", s.functions - (s.actions.none || 0), undefined, null),
    card(data.comparison ? "findings in all" : "findings", all, before.findings, true));
  if (data.comparison) {
    cards.append(card("new since then", data.findings.length, undefined, null), card("fixed since then", data.comparison.gone.length, undefined, null));
  }
  if (data.suppressed) cards.append(card("suppressed", data.suppressed, undefined, null));
  const bar = make("div", { class: "bar", role: "img", "aria-label": `${s.safe} safe, ${s.speculative} speculative, ${s.unsafe} unsafe` });
  for (const name of ["safe", "speculative", "unsafe"]) {
    if (s[name]) bar.append(make("span", { class: name, style: `flex:${s[name]}`, title: `${s[name]} ${name}` }));
  }
  byId("totals").append(cards, bar);
  if (data.errors.length) {
    const list = make("ul");
    for (const error of data.errors) list.append(make("li", {}, make("code", {}, error.place), " ", error.message));
    byId("errors").append(make("h3", {}, `${data.errors.length} files could not be analysed`), list);
    byId("errors").hidden = false;
  }
}

// --- functions --------------------------------------------------------------------------------------------------------------

const state = { sort: null, descending: false, limit: PAGE, open: new Set() };

function wantedFunctions() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const filters = { class: byId("class").value, action: byId("action").value, path: byId("file").value };
  const found = [];
  data.functions.forEach((entry, index) => {
    for (const [key, value] of Object.entries(filters)) if (value && entry[key] !== value) return;
    const text = `${entry.name} ${entry.path} ${entry.reason} ${entry.assumptions.join(" ")}`.toLowerCase();
    if (words.every((word) => text.includes(word))) found.push(index);
  });
  if (state.sort) {
    const key = state.sort, sign = state.descending ? -1 : 1;
    found.sort((a, b) => sign * (data.functions[a][key] < data.functions[b][key] ? -1 : data.functions[a][key] > data.functions[b][key] ? 1 : 0) || a - b);
  }
  return found;
}

function showFunctions() {
  const found = wantedFunctions();
  const body = document.querySelector("#function-table tbody");
  body.replaceChildren();
  for (const index of found.slice(0, state.limit)) {
    const entry = data.functions[index];
    const row = make("tr", { class: "function", tabindex: "0", "data-function": index, "aria-expanded": state.open.has(index) },
      make("td", {}, make("span", { class: "name" }, entry.name), make("small", {}, entry.place)),
      make("td", { class: `${entry.class}-text` }, entry.class),
      make("td", { class: entry.action === "none" ? "none" : "" }, ACTIONS[entry.action]),
      make("td", {}, entry.reason));
    body.append(row);
    if (state.open.has(index)) body.append(make("tr", { class: "more" }, details(entry)));
  }
  byId("count").textContent = `${found.length} of ${data.functions.length}`;
  byId("more").hidden = found.length <= state.limit;
}

function part(cell, title, items) {
  if (!items.length) return;
  cell.append(make("h3", {}, title), make("ul", {}, ...items.map((item) => make("li", {}, ...[].concat(item)))));
}

const via = (names) => (names.length ? ` via ${names.join(" \u203a ")}` : "");

function details(entry) {
  const cell = make("td", { class: "details", colspan: "4" });
  part(cell, "Assumes", entry.assumptions);
  part(cell, "Hazards", entry.hazards.map((hazard) => [make("code", {}, hazard.rule), ` ${hazard.message} (${hazard.place}${via(hazard.via)})`]));
  part(cell, "Side effects", entry.effects.map((effect) => [make("code", {}, effect.detail), ` ${effect.kind} (${effect.place}${via(effect.via)})`]));
  if (entry.parameters.length) {
    const table = make("table", {}, make("tr", {}, make("th", {}, "name"), make("th", {}, "is"), make("th", {}, "known by"), make("th", {}, "types")));
    for (const p of entry.parameters) {
      table.append(make("tr", {}, make("td", {}, make("code", {}, p.name)), make("td", {}, p.kind), make("td", {}, p.evidence), make("td", {}, make("code", {}, p.types.join(" | ")))));
    }
    cell.append(make("h3", {}, "Parameters"), table);
  }
  part(cell, "Returns", entry.returns.map((type) => make("code", {}, type)));
  if (entry.signature) cell.append(make("h3", {}, "Signature that agrees with every call"), make("pre", {}, entry.signature));
  if (entry.diff) cell.append(make("h3", {}, `Change (fix --level ${entry.level})`), diff(entry.diff));
  if (!cell.childNodes.length) cell.append(make("p", { class: "none" }, "Nothing more is known."));
  return cell;
}

function diff(text) {
  const block = make("pre", { class: "diff" });
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const kind = line.startsWith("@@") ? "at" : /^(\+\+\+|---)/.test(line) ? "line" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "line";
    block.append(make("span", { class: kind }, line || " "));
  }
  return block;
}

function toggle(index) {
  if (state.open.has(index)) state.open.delete(index); else state.open.add(index);
  showFunctions();
}

function reveal(index) {
  for (const id of ["search", "class", "action", "file"]) byId(id).value = "";
  state.sort = null;
  state.limit = Math.max(state.limit, index + 1);
  state.open.add(index);
  showFunctions();
  const row = document.querySelector(`tr.function[data-function="${index}"]`);
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

function fill(id, values, name = (value) => value) {
  for (const value of values) byId(id).append(make("option", { value }, name(value)));
}

function startFunctions() {
  fill("class", ["safe", "speculative", "unsafe"]);
  fill("action", [...new Set(data.functions.map((entry) => entry.action))].sort(), (value) => ACTIONS[value]);
  fill("file", [...new Set(data.functions.map((entry) => entry.path))].sort());
  for (const id of ["search", "class", "action", "file"]) {
    byId(id).addEventListener("input", () => { state.limit = PAGE; showFunctions(); });
  }
  byId("more").addEventListener("click", () => { state.limit += PAGE; showFunctions(); });
  const body = document.querySelector("#function-table tbody");
  const rowOf = (event) => event.target.closest("tr.function");
  body.addEventListener("click", (event) => { const row = rowOf(event); if (row) toggle(Number(row.dataset.function)); });
  body.addEventListener("keydown", (event) => {
    const row = rowOf(event);
    if (row && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      toggle(Number(row.dataset.function));
      document.querySelector(`tr.function[data-function="${row.dataset.function}"]`).focus();
    }
  });
  for (const head of document.querySelectorAll("#function-table th[data-key]")) {
    head.addEventListener("click", () => {
      state.descending = state.sort === head.dataset.key && !state.descending;
      state.sort = head.dataset.key;
      for (const other of document.querySelectorAll("#function-table th[data-key]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      showFunctions();
    });
  }
  showFunctions();
}

// --- findings ---------------------------------------------------------------------------------------------------------------

function showFindings() {
  const words = byId("finding-search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const severity = byId("severity").value;
  const list = byId("finding-list");
  list.replaceChildren();
  let count = 0;
  for (const found of data.findings) {
    const rule = data.rules[found.rule] || { name: "", summary: "" };
    const text = `${found.rule} ${rule.name} ${found.path} ${found.function} ${found.message}`.toLowerCase();
    if ((severity && found.severity !== severity) || !words.every((word) => text.includes(word))) continue;
    count += 1;
    if (count > 1000) continue;
    const entry = make("div", { class: `finding ${found.severity}` },
      make("code", { title: rule.summary }, found.rule), ` ${rule.name}: ${found.message}`,
      make("small", {}, found.place + (found.function ? `, in ${found.function}` : "") + (found.fixable ? "; can be fixed" : "")));
    for (const related of found.related) entry.append(make("small", {}, `${related.message}: ${related.place}`));
    list.append(entry);
  }
  byId("finding-count").textContent = `${count} of ${data.findings.length}` + (count > 1000 ? "; the first 1000 are shown" : "");
}

function startFindings() {
  fill("severity", [...new Set(data.findings.map((found) => found.severity))].sort());
  byId("finding-search").addEventListener("input", showFindings);
  byId("severity").addEventListener("input", showFindings);
  showFindings();
}

// --- the call graph -----------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

function draw(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function startGraph() {
  const { nodes, edges, leftOut, width, height } = data.graph;
  const canvas = byId("canvas");
  if (leftOut) byId("left-out").textContent = `${leftOut} functions of other parts are not drawn.`;
  if (!nodes.length) { canvas.textContent = "No function calls another one."; canvas.style.height = "auto"; return; }
  const svg = draw("svg", { role: "img", "aria-label": "Call graph" });
  const world = draw("g", {});
  const at = new Map(nodes.map((node) => [node.f, node]));
  const lines = edges.map(([from, to]) => {
    const a = at.get(from), b = at.get(to);
    const x1 = a.x + a.w, middle = Math.max(24, Math.abs(b.x - x1) / 2);
    const path = draw("path", { class: "edge", d: `M${x1} ${a.y} C${x1 + middle} ${a.y} ${b.x - middle} ${b.y} ${b.x} ${b.y}` });
    world.append(path);
    return path;
  });
  const boxes = new Map();
  for (const node of nodes) {
    const entry = data.functions[node.f];
    const group = draw("g", { class: `node ${node.region}`, transform: `translate(${node.x} ${node.y})` });
    group.append(draw("title", {}, `${entry.name}\n${entry.place}\n${entry.class}: ${entry.reason}`),
      draw("rect", { y: -9, width: node.w, height: 18, rx: 4 }), draw("text", { x: 8, y: 4 }, entry.name));
    group.addEventListener("click", () => choose(node.f));
    world.append(group);
    boxes.set(node.f, group);
  }
  svg.append(world);
  canvas.append(svg);

  function choose(index) {
    const near = new Set([index]);
    edges.forEach(([from, to], number) => {
      const touches = from === index || to === index;
      if (touches) { near.add(from); near.add(to); }
      lines[number].classList.toggle("faded", !touches);
    });
    for (const [other, box] of boxes) {
      box.classList.toggle("faded", !near.has(other));
      box.classList.toggle("chosen", other === index);
    }
    reveal(index);
  }

  const view = canvas.getBoundingClientRect();
  const first = Math.min(1, Math.max(0.35, Math.min((view.width - 40) / width, (view.height - 40) / height)));
  let scale = first, x = 20, y = 20;
  const move = () => world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    const next = Math.min(4, Math.max(0.05, scale * Math.exp(-event.deltaY / 400)));
    x = px - (px - x) * next / scale; y = py - (py - y) * next / scale; scale = next;
    move();
  }, { passive: false });
  let grip = null;
  svg.addEventListener("pointerdown", (event) => { grip = [event.clientX - x, event.clientY - y]; });
  window.addEventListener("pointermove", (event) => {
    if (!grip) return;
    x = event.clientX - grip[0]; y = event.clientY - grip[1];
    svg.classList.add("moving");
    move();
  });
  window.addEventListener("pointerup", () => { grip = null; svg.classList.remove("moving"); });
  svg.addEventListener("click", (event) => {
    if (event.target !== svg) return;
    for (const element of [...lines, ...boxes.values()]) element.classList.remove("faded", "chosen");
  });
  move();
}

showTotals();
startFunctions();
startFindings();
startGraph();
