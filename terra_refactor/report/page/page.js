"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
for (const entry of data.functions) {
  for (const key of ["assumptions", "parameters", "returns", "effects", "hazards"]) entry[key] ??= [];
  entry.reason ??= "";
  const text = (number) => data.texts[number];
  entry.path = text(entry.path);
  entry.place = `${entry.path}, ${entry.line}`;
  entry.assumptions = entry.assumptions.map(text);
  entry.effects = entry.effects.map(([kind, detail, place, ...via]) => ({ kind: text(kind), detail: text(detail), place: text(place), via: via.map(text) }));
  entry.hazards = entry.hazards.map(([rule, message, place, ...via]) => ({ rule: text(rule), message: text(message), place: text(place), via: via.map(text) }));
}
const byId = (id) => document.getElementById(id);
const PAGE = 200;
// Enter in a field must not load the page again; the page's policy runs no handler that stands in an attribute
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Text whose `quoted` parts are code. */
function prose(text) {
  return text.split("`").map((part, index, all) => (index % 2 && index < all.length - 1 ? make("code", {}, part) : index % 2 ? "`" + part : part));
}

const ACTIONS = {
  add_tf_function: "add tf.function", remove_tf_function: "remove tf.function",
  tune_tf_function: "tune tf.function", co_execute: "co-execute", extract_tf_function: "extract tf.function", none: "none",
};

// --- totals ---------------------------------------------------------------------------------------------------------------

function card(title, value, before, lessIsBetter) {
  const shown = make("b", {}, value.toLocaleString("en"));
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
    `${s.functions.toLocaleString("en")} functions in ${s.files.toLocaleString("en")} files, ${s.lines.toLocaleString("en")} lines, in ${s.seconds.toFixed(1)} s; version ${data.version}` +
    (data.comparison ? `; compared to ${data.comparison.name}` : "");
  const known = data.comparison ? data.comparison.known : 0;
  const all = data.findings.length + known;
  const cards = make("div", { class: "cards" },
    card("safe as graphs", s.safe, before.safe, false),
    card("speculative", s.speculative, before.speculative, null),
    card("unsafe", s.unsafe, before.unsafe, true),
    card("changes proposed", data.agenda.changes.length, undefined, null),
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

// --- what to do first ---------------------------------------------------------------------------------------------------------

function agendaEntry(item) {
  const name = item.f === null ? make("span", { class: "name" }, item.name) : make("button", { type: "button", class: "name" }, item.name);
  if (item.f !== null) name.addEventListener("click", () => reveal(item.f));
  const level = item.level === "safe" ? "" : ` at --level ${item.level}`;
  const gain = item.seconds > 0 ? `, saves about ${item.seconds} s in ${item.recorded ? "the recorded runs" : "a run"} (${item.calls} calls)` : "";
  const what = item.action === "none" ? [] : [make("b", {}, ACTIONS[item.action]), `${level}${gain}: `];
  const rule = item.action === "none" && item.rule ? [" ", make("code", {}, item.rule)] : [];
  return make("li", {}, name, make("small", {}, item.place), make("p", {}, ...what, ...prose(item.reason), ...rule));
}

/** The first entries; a button shows the others. */
function showAgenda(id, items, nothing) {
  const list = make("ul", { class: "agenda" }, ...items.slice(0, 20).map(agendaEntry));
  byId(id).replaceChildren(items.length ? list : make("p", { class: "none" }, nothing));
  if (items.length <= 20) return;
  const button = make("button", { type: "button" }, `Show ${items.length - 20} more`);
  button.addEventListener("click", () => { list.append(...items.slice(20).map(agendaEntry)); button.remove(); });
  byId(id).append(button);
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
      make("td", {}, ...prose(entry.reason)));
    body.append(row);
    if (state.open.has(index)) body.append(make("tr", { class: "more" }, details(entry)));
  }
  if (!found.length) body.append(make("tr", {}, make("td", { class: "none", colspan: "4" }, data.functions.length ? "No function is like that." : "No functions.")));
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
  part(cell, "Assumes", entry.assumptions.map(prose));
  part(cell, "Hazards", entry.hazards.map((hazard) => [make("code", {}, hazard.rule), " ", ...prose(hazard.message), ` (${hazard.place}${via(hazard.via)})`]));
  part(cell, "Side effects", entry.effects.map((effect) => [make("code", {}, effect.detail), ` ${effect.kind} (${effect.place}${via(effect.via)})`]));
  if (entry.parameters.length) {
    const table = make("table", {}, make("tr", {}, make("th", {}, "name"), make("th", {}, "is"), make("th", {}, "known by"), make("th", {}, "types")));
    for (const p of entry.parameters) {
      table.append(make("tr", {}, make("td", {}, make("code", {}, p.name)), make("td", {}, p.kind), make("td", {}, p.evidence), make("td", {}, ...(p.types.length ? [make("code", {}, p.types.join(" | "))] : []))));
    }
    cell.append(make("h3", {}, "Parameters"), table);
  }
  part(cell, "Returns", entry.returns.map((type) => make("code", {}, type)));
  if (entry.signature) cell.append(make("h3", {}, "Signature that agrees with every call"), make("pre", {}, entry.signature));
  if (entry.diff) cell.append(make("h3", {}, `Change (fix --level ${entry.level})`), diff(entry.diff));
  if (!cell.childNodes.length) cell.append(make("p", { class: "none" }, "Nothing more is known."));
  const index = data.functions.indexOf(entry);
  if (calls.has(index) || callers.has(index)) {
    const button = make("button", { type: "button" }, "Who calls it, and what it calls");
    button.addEventListener("click", () => { showAround(index); byId("graph").scrollIntoView(); });
    cell.append(button);
  }
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
      make("code", { title: rule.summary }, found.rule), ` ${rule.name}: `, ...prose(found.message),
      make("small", {}, found.place + (found.function ? `, in ${found.function}` : "") + (found.fixable ? "; can be fixed" : "")));
    for (const related of found.related) entry.append(make("small", {}, `${related.message}: ${related.place}`));
    list.append(entry);
  }
  if (!count) list.append(make("p", { class: "none" }, data.findings.length ? "No finding is like that." : "No findings."));
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

const LETTER = 6.6, ROW = 26, BETWEEN = 70, SMALL = 150, STEP = 60;
const calls = new Map(), callers = new Map();
for (const [from, to] of data.graph.edges) {
  if (!calls.has(from)) calls.set(from, []);
  if (!callers.has(to)) callers.set(to, []);
  calls.get(from).push(to);
  callers.get(to).push(from);
}
const graph = { around: null };

/** The functions at most `depth` calls away, callers in columns to the left, what is called in columns to the right. */
function near(center, depth) {
  const columns = new Map([[0, [center]]]);
  const seen = new Set([center]);
  for (const [sign, edges] of [[1, calls], [-1, callers]]) {
    let layer = [center];
    for (let distance = 1; distance <= depth && layer.length; distance += 1) {
      const next = [];
      for (const index of layer) {
        for (const other of edges.get(index) || []) if (!seen.has(other)) { seen.add(other); next.push(other); }
      }
      if (next.length) columns.set(sign * distance, next);
      layer = next;
    }
  }
  const order = [...columns.keys()].sort((a, b) => a - b);
  const height = Math.max(...[...columns.values()].map((column) => column.length)) * ROW;
  const nodes = [];
  let x = 0;
  for (const key of order) {
    const column = columns.get(key);
    const widths = column.map((index) => data.functions[index].name.length * LETTER + 16);
    column.forEach((index, row) => nodes.push({
      f: index, region: data.functions[index].region, x, y: (height - column.length * ROW) / 2 + ROW / 2 + row * ROW, w: widths[row],
    }));
    x += Math.max(...widths) + BETWEEN;
  }
  return { nodes, width: x - BETWEEN, height };
}

function showGraph() {
  const isNear = byId("view").value === "near" && graph.around !== null;
  for (const id of ["around", "depth", "to-table"]) byId(id).hidden = byId("view").value !== "near";
  const whole = data.graph;
  const picture = isNear ? near(graph.around, Number(byId("depth").value)) : whole;
  const canvas = byId("canvas");
  canvas.replaceChildren();
  if (!picture.nodes.length) {
    canvas.className = "none";
    canvas.onkeydown = null;
    canvas.textContent = "No function calls another one.";
    return;
  }
  byId("drawn").textContent = `${picture.nodes.length} functions` + (!isNear && whole.leftOut ? `; ${whole.leftOut} more are not drawn` : "");
  byId("click-hint").textContent = isNear ? "Click a function (or Enter) to put it in the middle." : "Click a function (or Enter) to see it above.";
  drawGraph(canvas, picture, isNear);
}

function drawGraph(canvas, { nodes, width, height }, isNear) {
  const svg = draw("svg", { role: "group", "aria-label": "Call graph" });
  const world = draw("g", {});
  const at = new Map(nodes.map((node) => [node.f, node]));
  const edges = data.graph.edges.filter(([from, to]) => at.has(from) && at.has(to));
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
    const chosen = isNear && node.f === graph.around ? " chosen" : "";
    const group = draw("g", {
      class: `node ${node.region}${chosen}`, transform: `translate(${node.x} ${node.y})`, tabindex: "0", role: "button", "aria-label": entry.name,
    });
    group.append(draw("title", {}, `${entry.name}\n${entry.place}\n${entry.class}: ${entry.reason}`),
      draw("rect", { y: -9, width: node.w, height: 18, rx: 4 }), draw("text", { x: 8, y: 4 }, entry.name));
    const select = () => (isNear ? showAround(node.f) : choose(node.f));
    group.addEventListener("click", select);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      select();
      if (isNear) canvas.querySelector(".node.chosen").focus();
    });
    group.addEventListener("focus", () => { if (group.matches(":focus-visible")) show(node); });
    world.append(group);
    boxes.set(node.f, group);
  }
  svg.append(world);
  canvas.append(svg);

  function choose(index) {
    const neighbours = new Set([index]);
    edges.forEach(([from, to], number) => {
      const touches = from === index || to === index;
      if (touches) { neighbours.add(from); neighbours.add(to); }
      lines[number].classList.toggle("faded", !touches);
    });
    for (const [other, box] of boxes) {
      box.classList.toggle("faded", !neighbours.has(other));
      box.classList.toggle("chosen", other === index);
    }
    reveal(index);
  }

  canvas.style.height = `${Math.round(Math.min(620, Math.max(160, height * Math.min(1, (canvas.clientWidth - 40) / width) + 40)))}px`;
  const view = canvas.getBoundingClientRect();
  let scale = Math.min(1, Math.max(0.35, Math.min((view.width - 40) / width, (view.height - 40) / height)));
  let x = 20, y = 20;
  if (isNear) {
    const middle = at.get(graph.around);
    x = width * scale < view.width ? (view.width - width * scale) / 2 : view.width / 2 - (middle.x + middle.w / 2) * scale;
    y = height * scale < view.height ? (view.height - height * scale) / 2 : view.height / 2 - middle.y * scale;
  }
  const move = () => world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  /** Scale by a factor; the point (px, py) of the canvas stays where it is. */
  function zoom(factor, px, py) {
    const next = Math.min(4, Math.max(0.05, scale * factor));
    x = px - (px - x) * next / scale; y = py - (py - y) * next / scale; scale = next;
    move();
  }
  /** Move a function that the keyboard reached into view. */
  function show(node) {
    canvas.scrollTo(0, 0); // browsers scroll to what is focused; the picture moves instead
    const left = x + node.x * scale, middle = y + node.y * scale;
    if (left < 0 || left + node.w * scale > view.width) x = view.width / 2 - (node.x + node.w / 2) * scale;
    if (middle < 20 || middle > view.height - 20) y = view.height / 2 - node.y * scale;
    move();
  }
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  canvas.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }[event.key];
    const factor = { "+": 1.25, "=": 1.25, "-": 0.8 }[event.key];
    if (step) { x += step[0]; y += step[1]; move(); } else if (factor) zoom(factor, view.width / 2, view.height / 2); else return;
    event.preventDefault();
  };
  let grip = null;
  svg.addEventListener("pointerdown", (event) => { grip = [event.clientX - x, event.clientY - y]; });
  window.onpointermove = (event) => {
    if (!grip) return;
    x = event.clientX - grip[0]; y = event.clientY - grip[1];
    svg.classList.add("moving");
    move();
  };
  window.onpointerup = () => { grip = null; svg.classList.remove("moving"); };
  svg.addEventListener("click", (event) => {
    if (event.target !== svg || isNear) return;
    for (const element of [...lines, ...boxes.values()]) element.classList.remove("faded", "chosen");
  });
  move();
}

const label = (index) => `${data.functions[index].name} \u2014 ${data.functions[index].place}`;

function showAround(index) {
  graph.around = index;
  byId("view").value = "near";
  byId("around").value = label(index);
  showGraph();
}

function startGraph() {
  const connected = [...new Set(data.graph.edges.flat())].sort((a, b) => a - b);
  const labels = new Map(connected.map((index) => [label(index), index]));
  for (const text of labels.keys()) byId("names").append(make("option", { value: text }));
  const degree = (index) => (calls.get(index) || []).length + (callers.get(index) || []).length;
  const rank = (index) => (data.functions[index].region === "eager" ? 0 : 1e6) + degree(index);
  if (connected.length) graph.around = connected.reduce((best, index) => (rank(index) > rank(best) ? index : best));
  if (graph.around !== null) byId("around").value = label(graph.around);
  byId("view").value = connected.length > SMALL ? "near" : "whole";
  byId("view").addEventListener("input", showGraph);
  byId("depth").addEventListener("input", showGraph);
  byId("around").addEventListener("input", () => { const index = labels.get(byId("around").value); if (index !== undefined) showAround(index); });
  byId("to-table").addEventListener("click", () => reveal(graph.around));
  showGraph();
}

showTotals();
showAgenda("changes", data.agenda.changes, "No change is proposed.");
showAgenda("held-back", data.agenda.heldBack, "None.");
startFunctions();
startFindings();
startGraph();
