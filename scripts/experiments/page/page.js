"use strict";
// The page around the plots: the first screen, the page of a paper, filters, and a section for each
// result. `#paper=ELEDA` is the page of a paper. The state is in the address, after the #: `#log=poplar&verdict=agrees` can be shared. `#p7` leads to a
// section.

const data = JSON.parse(document.getElementById("data").textContent);
const filters = { paper: "", log: "", workload: "", machine: "", verdict: "", find: "" };
const switchedOff = new Set(); // "id run series"
const classes = { agrees: "agrees", "direction only": "direction", disagrees: "disagrees",
  "by a device's formula": "device", "not tested": "missing", picture: "missing" };
const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== ""));
  return made;
}

const verdictOf = (verdict, line) => element("span",
  { class: `verdict ${classes[verdict.split(":")[0]] || "missing"}` }, line || verdict);

// Text with `code`, **strong** and *emphasized* words in it, as elements.
const prose = (text) => String(text).split(/(`[^`]*`|\*\*[^*]+\*\*|\*[A-Za-z][^*]*\*)/).map((part, i) => {
  if (i % 2 === 0) return part;
  if (part.startsWith("`")) return element("code", {}, part.slice(1, -1));
  return part.startsWith("**") ? element("b", {}, part.slice(2, -2)) : element("i", {}, part.slice(1, -1));
}).filter((part) => part !== "");

const noteOf = (text) => (text ? element("span", { class: "note" }, ...prose(text)) : "");

// ---- what the filters leave

const wanted = (one) => (!filters.log || one.log === "" || one.log === filters.log) &&
  (!filters.workload || one.workload === "" || one.workload === undefined ||
   one.workload === filters.workload);

function visibleRuns(entry) {
  return entry.runs.filter((run) => (!filters.machine || run.machine === filters.machine) &&
    ((!filters.log && !filters.workload) || run.table.facts.some(wanted)));
}

function visible(entry) {
  if (filters.paper && (entry.own || entry.paper !== filters.paper)) return false;
  if (filters.verdict && entry.verdict !== filters.verdict) return false;
  const words = [...entry.ids, entry.source, entry.title, entry.claim].join(" ").toLowerCase();
  if (!filters.find.toLowerCase().split(/\s+/).every((word) => words.includes(word))) return false;
  const byRun = filters.log || filters.workload || filters.machine;
  return !byRun || visibleRuns(entry).length > 0;
}

const keyOf = (entry, run, series) => `${entry.ids[0]} ${run.name} ${series}`;

// ---- the panels of a figure

function panelsOf(entry, run) {
  const { plot } = entry;
  const on = (one) => wanted(one) && !switchedOff.has(keyOf(entry, run, one.series));
  const beside = plot.kind === "stacked"; // stacks cannot lie over each other
  const given = run.published_points.filter((one) => (beside ? wanted(one) : on(one)))
    .flatMap(publishedMarks);
  const panelsOfGiven = [...new Set(given.map((one) => one.panel))];
  const drawn = (run.traces.length ? run.traces : run.marks).filter(wanted);
  const names = [...new Set([...drawn.map((one) => one.panel),
    ...(beside || filters.workload ? [] : panelsOfGiven)])];
  const several = plot.kind === "bars" || plot.kind === "timeline";
  const columns = several ? plot.columns : [null];
  const panels = beside ? panelsOfGiven.map((panel) => ({ panel, column: null, published: true,
    marks: given.filter((one) => one.panel === panel), traces: [], over: [] })) : [];
  for (const column of columns) {
    for (const panel of plot.kind === "dependencies" ? Object.keys(run.edges) : names) {
      const isOf = (one) => one.panel === panel &&
        (plot.kind === "stacked" ? wanted(one) : on(one)) &&
        (column === null || one.column === column ||
         (plot.low_high.includes(column) && plot.low_high.includes(one.column)));
      const marks = run.marks.filter(isOf);
      const traces = run.traces.filter(isOf);
      const over = beside || column !== columns[0] ? [] : given.filter((one) => one.panel === panel);
      if (marks.length || traces.length || over.length || run.edges[panel]?.length) {
        panels.push({ panel, column, marks, traces, over, published: false });
      }
    }
  }
  shareScales(plot, run, panels);
  return panels;
}

function publishedMarks(given) {
  return given.x.map((x, i) => ({ ...given, x, y: given.y[i], low: given.y[i], high: given.y[i],
    bar: [given.y[i], given.y[i]], rounds: 1 }));
}

// Where the ticks have units of their own.
const withoutUnit = (words) => (words || "").replace(/ \((us|ms)\)$/, "");

const ofColumn = (value, columns, column) => (Array.isArray(value)
  ? value[Math.max(0, columns.indexOf(column))] : value);

// Panels of one column can be compared: they have one scale, unless one of them would be flat.
function shareScales(plot, run, panels) {
  const own = panels.filter((one) => one.marks.length);
  const barsOf = (one) => (plot.kind === "stacked" ? sumsOf(one.marks)
    : [...one.marks, ...one.over].flatMap((mark) => mark.bar));
  for (const panel of own) {
    const beside = own.filter((one) => one.column === panel.column);
    const highs = beside.map((one) => Math.max(...barsOf(one)));
    const log = ofColumn(run.y_scale, plot.y, panel.column) === "log";
    if (log || Math.max(...highs) < 3 * Math.min(...highs)) panel.shared = beside.flatMap(barsOf);
  }
}

function drawPanel(entry, run, { panel, column, marks, traces, over, published, shared = [] }) {
  const { plot } = entry;
  const ranges = plot.kind === "bars" && plot.low_high.includes(column) && !published;
  const of = published ? entry.setting
    : [run.machine, run.revision.slice(0, 8), run.name].join(", ");
  const where = published ? "published" : run.where;
  const caption = element("figcaption", {}, element("b", {}, panel || where),
    panel ? `${where}${of ? ` (${of})` : ""}` : of);
  const host = element("figure", { class: "panel", "data-panel": panel,
    "data-published": published ? "yes" : null }, caption);
  const yLabel = ofColumn(plot.y_label, plot.y, column) || column || plot.columns[0] || "";
  const yWords = plot.kind === "cdf" ? (value) => String(value)
    : ranges ? wordsOf(plot.low_high[1]) : short;
  host.draw = () => {
    host.querySelector("svg")?.remove();
    const spec = { width: Math.max(220, host.clientWidth), height: ranges ? 230 : 290, marks, over,
      traces, plot, styles: run.styles, parts: run.parts, edges: run.edges[panel],
      xLabel: plot.kind === "cdf" ? withoutUnit(plot.x_label) : plot.x_label,
      yLabel: ranges ? withoutUnit(yLabel) : yLabel, shared,
      yScale: ofColumn(run.y_scale, plot.y, column) || null, yWords,
      xWords: plot.kind === "cdf" ? duration : short,
      label: `${entry.ids[0]}, ${panel || where}: arrow keys walk along the points` };
    const kinds = { stacked: drawStacked, bars: ranges ? drawRanges : drawBars,
      dependencies: drawDependencies };
    const draw = kinds[plot.kind] || (run.traces.length ? drawTraces : drawLines);
    const { root, points } = draw(spec);
    host.append(root);
    walkable(root, points);
  };
  return host;
}

// ---- hovering, and the same with the arrow keys

function walkable(root, points) {
  const ring = svg("circle", { r: 8, fill: "none", stroke: "var(--ink)", "stroke-width": 1.6,
    visibility: "hidden" });
  root.append(ring);
  const ordered = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  let at = -1;
  const show = (point) => {
    if (!point) return hide();
    ring.setAttribute("cx", point.x);
    ring.setAttribute("cy", point.y);
    ring.setAttribute("visibility", "visible");
    const tip = byId("tip");
    tip.replaceChildren(...(point.series ? [element("b", {}, point.series)] : []), point.says);
    tip.hidden = false;
    const box = root.getBoundingClientRect();
    const left = box.left + point.x + 14;
    const wide = tip.offsetWidth;
    tip.style.left = `${window.scrollX + Math.max(6, Math.min(left,
      document.documentElement.clientWidth - wide - 6))}px`;
    tip.style.top = `${window.scrollY + box.top + point.y - tip.offsetHeight - 12}px`;
    return undefined;
  };
  const hide = () => {
    ring.setAttribute("visibility", "hidden");
    byId("tip").hidden = true;
  };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const far = (point) => Math.hypot(point.x - x, point.y - y);
    const nearest = ordered.reduce(
      (best, point) => (!best || far(point) < far(best) ? point : best), null);
    show(nearest && far(nearest) < 48 ? nearest : null);
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("blur", hide);
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step || !ordered.length) return;
    event.preventDefault();
    at = (at + step + ordered.length) % ordered.length;
    show(ordered[at]);
  });
}

// ---- the parts of a section

function legend(entry, run, redraw) {
  const stacked = run.parts.length > 0;
  const shown = stacked ? run.parts.map((part) => [part.name, { ...part, marker: "s", variant: 0 }])
    : Object.entries(run.styles).filter(([name]) => name && [...run.marks, ...run.traces].some(
      (one) => one.series === name && wanted(one)));
  const items = shown.map(([name, style]) => {
    const sample = svg("svg", { width: 26, height: 14, class: `c-${style.colour}`,
      "aria-hidden": "true" });
    if (!stacked && entry.plot.kind !== "bars") sample.append(lineFor([[0, 7], [26, 7]], style));
    sample.append(markerAt(13, 7, stacked || entry.plot.kind === "bars"
      ? { ...style, marker: "s" } : style, stacked ? 6 : 4.2));
    const says = style.unsafe && !/unsafe/i.test(name) ? `${name} (unsafe)` : name;
    if (stacked) {
      return element("li", {}, element("button", { type: "button", disabled: "" }, sample, says));
    }
    const key = keyOf(entry, run, name);
    const button = element("button", { type: "button", "data-series": name,
      "aria-pressed": String(!switchedOff.has(key)), title: "show or hide" }, sample, says);
    button.addEventListener("click", () => {
      if (!switchedOff.delete(key)) switchedOff.add(key);
      button.setAttribute("aria-pressed", String(!switchedOff.has(key)));
      redraw();
    });
    return element("li", {}, button);
  });
  if (run.published_points.length && !stacked) {
    const sample = svg("svg", { width: 16, height: 16, "aria-hidden": "true" },
      svg("circle", { cx: 8, cy: 8, r: 6.5, class: "published" }));
    items.push(element("li", {}, element("button", { type: "button", disabled: "" }, sample,
      "published")));
  }
  return element("ul", { class: "legend", "aria-label": "Series" }, ...items);
}

const cellText = (value) => (typeof value === "number" ? short(value, 4) : value ?? "\u2013");

function tableOf(entry, run) {
  const { columns, lines, facts, notes } = run.table;
  const isNumber = columns.map((_, i) => lines.every((line) => line[i] === null ||
    typeof line[i] === "number"));
  const own = lines.filter((_, i) => wanted(facts[i]) &&
    !switchedOff.has(keyOf(entry, run, facts[i].series)));
  const cells = (tag, line) => line.map((value, i) => element(tag,
    { class: isNumber[i] ? "number" : null, scope: tag === "th" ? "col" : null }, cellText(value)));
  return element("details", { open: own.length <= 12 ? "" : null },
    element("summary", {}, `Table: ${own.length === lines.length ? "" : `${own.length} of `}` +
      `${lines.length} points, medians of ${run.rounds} round${run.rounds === 1 ? "" : "s"}` +
      `${run.rounds > 1 ? "; \u00b1%: half of the 95 % interval" : ""}`),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
      element("table", {}, element("thead", {}, element("tr", {}, ...cells("th", columns))),
        element("tbody", {}, ...own.map((line) => element("tr", {}, ...cells("td", line)))))),
    ...notes.map((said) => element("p", {}, ...prose(said))));
}

function plainTable({ title, sentences, columns, lines }) {
  const row = (tag, cells) => element("tr", {}, ...cells.map((value) => element(tag,
    { class: typeof value === "number" ? "number" : null }, cellText(value))));
  return element("details", { open: lines.length <= 12 ? "" : null },
    element("summary", {}, title), ...sentences.map((said) => element("p", {}, ...prose(said))),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      element("table", {}, element("thead", {}, row("th", columns)),
        element("tbody", {}, ...lines.map((line) => row("td", line))))));
}

function checksOf(run) {
  return element("ul", { class: "checks" }, ...run.checks.map((check) => element("li", {},
    verdictOf(check.verdict), " ", ...prose(check.says), ...[check.quotes, check.beside,
      check.numbers.map((pair) => pair.join(": ")).join("; ")].filter(Boolean).map((said) =>
      element("span", { class: "numbers" }, said)))));
}

function command(text) {
  const copy = element("button", { type: "button", class: "copy" }, "copy");
  copy.addEventListener("click", () => navigator.clipboard?.writeText(text).then(() => {
    copy.textContent = "copied";
  }));
  return element("p", {}, "Again: ", element("code", {}, text), " ", copy);
}

function runOf(entry, run) {
  const panels = element("div", { class: "panels" });
  const below = element("div");
  const redraw = () => {
    const shown = panelsOf(entry, run);
    const inRow = new Set(shown.map((one) => `${one.published} ${one.panel}`)).size;
    panels.style.setProperty("--n", Math.min(3, inRow === 4 ? 2 : inRow) || 1);
    panels.classList.toggle("single", inRow === 1 && entry.plot.kind !== "timeline");
    panels.replaceChildren(...shown.map((panel) => drawPanel(entry, run, panel)));
    for (const panel of panels.children) panel.draw();
    below.replaceChildren(tableOf(entry, run));
  };
  const host = element("div", { class: `run${run.simulated ? " simulated" : ""}`,
    "data-run": run.name },
  element("p", { class: "origin" }, element("b", {}, run.of), ["", `revision ${run.revision}`,
    `size ${run.name}`, `${run.rounds} rounds`, run.stale,
    run.thrown_away ? `${run.thrown_away} runs thrown away` : ""]
    .filter((said, i) => said || i === 0).join("; ")),
  run.ours ? element("div", { class: "compared" }, element("span", {}, `${run.what}: `,
    element("b", {}, run.ours)), run.published ? element("span", {}, "published: ",
    element("b", {}, run.published)) : "") : "",
  legend(entry, run, redraw), panels);
  host.redraw = redraw;
  host.details = element("div", {}, checksOf(run), below, command(run.command));
  return host;
}

// The judging run is shown; all else is the result's appendix.
function sectionOf(entry) {
  const facts = [["Published", entry.published], ["There", entry.setting], ["Here", entry.here],
    ["Simulated", entry.simulated]].filter(([, said]) => said);
  const [first, ...others] = visibleRuns(entry).map((run) => runOf(entry, run));
  const appendix = element("details", { class: "appendix" },
    element("summary", {}, "Settings, checks and rows"),
    element("dl", {}, ...facts.flatMap(([name, said]) => [element("dt", {}, name),
      element("dd", {}, ...prose(said))])),
    first ? first.details : "", ...others.flatMap((run) => [run, run.details]), ...entry.tables.map(plainTable),
    entry.runs.length ? "" : command(entry.command));
  appendix.addEventListener("toggle", () => others.forEach((run) => run.redraw()));
  return element("article", { class: "entry", id: entry.ids[0].toLowerCase(),
    "data-id": entry.ids[0] },
  element("header", {}, element("h3", {}, element("span", { class: "id" }, entry.ids.join(", ")),
    entry.title), element("div", { class: "judged" }, noteOf(entry.note),
  verdictOf(entry.verdict, entry.words))),
  entry.source ? element("div", { class: "source" }, entry.source) : "",
  element("p", { class: "claim" }, ...prose(entry.claim)), first || "",
  entry.why ? element("p", {}, element("b", {}, "Why: "), ...prose(entry.why)) : "",
  entry.falls.length ? element("details", {}, element("summary", {},
    `${entry.falls.length} checks do not agree`), element("ul", { class: "checks" },
    ...entry.falls.map((said) => element("li", {}, said)))) : "", appendix);
}

// ---- the first screen, and the page of a paper

const linkTo = (paper) => element("a", { href: `#paper=${encodeURIComponent(paper)}` }, paper);

function plot(draw) {
  const host = element("figure", { class: "panel plot" });
  host.redraw = () => {
    host.querySelector("svg")?.remove();
    const { root, points } = draw({ width: Math.max(320, host.clientWidth) });
    host.append(root);
    walkable(root, points);
  };
  return host;
}

function countsTable(lines) {
  const { columns } = data.screen;
  const row = (tag, line, link) => element("tr", {}, ...line.map((cell, i) => element(tag,
    { class: i ? "number" : null }, i === 0 && link ? linkTo(cell) : cell)));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Checks by paper" },
    element("table", { class: "counts" }, element("thead", {}, row("th", columns)),
      element("tbody", {}, ...lines.map((line) => row("td", line, line[0] !== "all")))));
}

function screenOf() {
  const { sentences, lines, papers, words, causes } = data.screen;
  const whys = element("table", { class: "whys" }, element("thead", {}, element("tr", {},
    ...["paper", "why checks do not agree", "how many, by cause", "what would settle it"].map((said) => element("th", {}, said)))),
  element("tbody", {}, ...papers.map(({ name, why, causes, settle }) => element("tr", {},
    element("td", {}, linkTo(name)), element("td", {}, ...prose(why)), element("td", {}, causes),
    element("td", {}, ...prose(settle))))));
  return [element("div", { class: "left" }, element("p", {}, ...prose(sentences[0])), countsTable(lines),
    ...sentences.slice(1).map((said) => element("p", {}, ...prose(said)))),
  element("div", { class: "right" }, dotsLegend(), plot(drawDots)),
  element("div", { class: "below" }, whys, element("p", { class: "source" }, ...prose(`${words}. ${causes}`)))];
}

function paperPageOf({ name, why, causes, settle, formulas }) {
  const facts = [["Why checks do not agree", why], ["Causes, in checks", causes], ["What would settle it", settle],
    ["A device's formula", formulas.join("; ")]].filter(([, said]) => said);
  const claims = data.entries.filter((entry) => entry.paper === name).map((entry) =>
    element("li", {}, verdictOf(entry.verdict, entry.words), " ", element("a",
      { href: `#${entry.ids[0].toLowerCase()}` }, entry.ids.join(", ")), " ", ...prose(entry.claim)));
  return [element("div", {}, element("h2", {}, name), element("p", {},
    element("a", { href: "#paper=" }, "All papers")),
  countsTable(data.screen.lines.filter(([paper]) => paper === name)),
  element("dl", {}, ...facts.flatMap(([what, said]) => [element("dt", {}, what),
    element("dd", {}, ...prose(said))]))),
  element("div", {}, dotsLegend(), plot(({ width }) => drawDots({ width, paper: name }))),
  element("div", { class: "below" }, element("h3", {}, "What the paper says, and what we find"),
    element("ul", { class: "checks claims" }, ...claims))];
}

// ---- the whole page

function render() {
  const paper = data.screen.papers.find(({ name }) => name === filters.paper);
  byId("screen").replaceChildren(...(paper ? [] : screenOf()));
  byId("paper-page").replaceChildren(...(paper ? paperPageOf(paper) : []));
  const shown = data.entries.filter(visible);
  const isReason = (entry) => paper?.reasons.includes(entry.ids[0]);
  const sections = [];
  for (const [title, entries] of [
    ["The reasons that explain most", paper ? paper.reasons.map((id) =>
      shown.find((entry) => entry.ids[0] === id)).filter(Boolean) : []],
    [paper ? "The other results" : "Each published result",
      shown.filter((entry) => !entry.own && !isReason(entry))],
    ["logjam's own measurements", shown.filter((entry) => entry.own)]]) {
    if (entries.length) sections.push(element("h2", {}, title), ...entries.map(sectionOf));
  }
  if (!shown.length) sections.push(element("p", {}, "No result matches these filters."));
  byId("results").replaceChildren(...sections);
  redrawAll();
  byId("shown").textContent = shown.length === data.entries.length ? ""
    : `${shown.length} of ${data.entries.length} results`;
  for (const [name, value] of Object.entries(filters)) byId(name).value = value;
}

function redrawAll() {
  for (const run of document.querySelectorAll(".run, .plot")) run.redraw();
}

function options(name, values) {
  const sorted = [...new Set(values)].filter(Boolean).sort();
  byId(name).replaceChildren(element("option", { value: "" }, "all"),
    ...sorted.map((value) => element("option", { value }, value)));
}

// The text after the #, or an empty one if it is no text.
function hashText() {
  try {
    return decodeURIComponent(window.location.hash.slice(1));
  } catch {
    return "";
  }
}

function readAddress() {
  const said = hashText();
  if (said && !said.includes("=")) return false; // a section's
  const given = new URLSearchParams(window.location.hash.slice(1));
  for (const name of Object.keys(filters)) filters[name] = given.get(name) || "";
  return true;
}

function writeAddress() {
  const set = Object.entries(filters).filter(([, value]) => value);
  const said = new URLSearchParams(set).toString();
  window.history.replaceState(null, "", said ? `#${said}` : window.location.pathname);
}

function begin() {
  const runs = data.entries.flatMap((entry) => entry.runs);
  options("paper", data.screen.papers.map(({ name }) => name));
  options("log", runs.flatMap((run) => run.table.facts.map((one) => one.log)));
  options("workload", runs.flatMap((run) => run.table.facts.map((one) => one.workload)));
  options("machine", runs.map((run) => run.machine));
  options("verdict", data.entries.map((entry) => entry.verdict));
  for (const name of Object.keys(filters)) {
    byId(name).addEventListener("input", (event) => change(name, event.target.value));
  }
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    for (const name of Object.keys(filters)) filters[name] = "";
    switchedOff.clear();
    writeAddress();
    render();
  });
  window.addEventListener("hashchange", () => {
    if (readAddress()) {
      render();
      window.scrollTo(0, 0);
    } else if (!byId(hashText())) {  // the section of another paper
      for (const name of Object.keys(filters)) filters[name] = "";
      render();
      byId(hashText())?.scrollIntoView();
    }
  });
  const section = !readAddress();
  render();
  if (section) byId(hashText())?.scrollIntoView();
  let width = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (width === document.documentElement.clientWidth) return;
    width = document.documentElement.clientWidth;
    window.requestAnimationFrame(redrawAll);
  });
}

function change(name, value) {
  filters[name] = value;
  writeAddress();
  render();
}

begin();
