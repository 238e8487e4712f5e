"use strict";
// Draws one panel of a figure as SVG. plot_kinds.py draws the same kinds for the PNGs. A panel
// gives back its points as {x, y, says}, in pixels: what hovering and the arrow keys walk over.

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const dashes = ["", "6 3", "2 2.5"];

// The outlines of matplotlib's markers, around (0, 0).
function markerPath(marker, r) {
  const polygon = (points) => `M${points.map(([x, y]) => `${x * r},${y * r}`).join("L")}Z`;
  const star = [...Array(10).keys()].map((i) => {
    const [angle, size] = [(i * Math.PI) / 5, i % 2 ? 0.5 : 1.3];
    return [Math.sin(angle) * size, -Math.cos(angle) * size];
  });
  const plus = [[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4],
    [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]];
  const turned = plus.map(([x, y]) => [(x - y) * 0.707, (x + y) * 0.707]);
  const shapes = {
    s: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    "^": [[0, -1.15], [1.05, 0.85], [-1.05, 0.85]], v: [[0, 1.15], [1.05, -0.85], [-1.05, -0.85]],
    D: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]], P: plus, X: turned, "*": star,
  };
  return shapes[marker] ? polygon(shapes[marker])
    : `M${-r},0a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
}

function markerAt(x, y, style, r = 4.2, doubtful = false) {
  const hollow = style.variant > 0 || style.unsafe;
  return svg("path", { d: markerPath(style.marker, r), transform: `translate(${x},${y})`,
    fill: hollow || doubtful ? "var(--paper)" : "currentColor", stroke: "currentColor", "stroke-width": 1.4,
    class: doubtful ? "doubtful" : "" });
}

// Published points: rings, each with the marker of its series, over what is drawn. `place(mark)` gives
// the pixels.
function addRings(root, { over, styles, plot }, place, points, alone = false) {
  for (const series of new Set(over.map((mark) => mark.series))) {
    const group = groupOf(series, styles[series]);
    const placed = over.filter((mark) => mark.series === series).map((mark) => [mark, ...place(mark)]);
    if (plot.kind !== "bars") {
      group.append(svg("path", { d: `M${placed.map(([, x, y]) => `${x},${y}`).join("L")}`, fill: "none",
        stroke: "var(--ink)", "stroke-dasharray": dashes[2] }));
    }
    for (const [mark, x, y] of placed) {
      const style = styleOfBar(styles[series], mark.x, alone);
      group.append(svg("circle", { cx: x, cy: y, r: 6.5, class: "published" }), svg("g",
        { class: `c-${style.colour}` }, markerAt(x, y, style, 2.8)));
      points.push({ x, y, series, style,
        says: `published, ${plot.x || "x"} ${short(mark.x)}: ${wordsOf(mark.column)(mark.y)}` });
    }
    root.append(group);
  }
}

function lineFor(points, style, width = 2) {
  return svg("path", { d: `M${points.map((p) => p.join(",")).join("L")}`, fill: "none",
    stroke: "currentColor", "stroke-width": width,
    "stroke-dasharray": dashes[Math.min(2, style.variant)] });
}

function groupOf(series, style) {
  return svg("g", { class: `series c-${style.colour}`, "data-series": series });
}

function saysMark(mark, column) {
  const words = wordsOf(column);
  const spread = mark.rounds > 1 && mark.low !== mark.high
    ? ` (${words(mark.low)} to ${words(mark.high)} with 95 %, ${mark.rounds} rounds)` : "";
  return `${words(mark.y)}${spread}${mark.doubtful ? ": disturbed or unsteady" : ""}`;
}

const widthOf = (text) => Math.max(...String(text).split("\n").map((line) => line.length)) * 6.3;

// The empty panel: axes, grid and labels. `fit(inner)` gets the box {left, right, top, bottom} and
// returns the scales {x, y}; it is asked twice, because the labels of y decide how wide they are.
function frame(spec, fit) {
  const { width, height } = spec;
  const box = { left: 8 + (spec.margin || 0), right: width - 12, top: spec.yLabel ? 26 : 10, bottom: height - 24 };
  let { x, y } = fit(box);
  const names = x.names ? x.names.map(String) : [];
  const lean = names.some((name) => widthOf(name) > x.band + 2);
  const lines = Math.max(1, ...names.map((name) => name.split("\n").length));
  if (lean) box.bottom -= Math.min(90, 0.53 * Math.max(...names.map(widthOf)) + 4);
  else box.bottom -= 13 * (lines - 1);
  if (spec.xLabel) box.bottom -= 19;
  box.left += Math.max(14, ...y.ticks(5).map((value) => widthOf(spec.yWords(value)))) + 5;
  if (lean) box.left = Math.max(box.left, Math.min(70, 0.8 * widthOf(names[0]) - x.band / 2));
  ({ x, y } = fit(box));
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0,
    role: "group", "aria-roledescription": "plot", "aria-label": spec.label });
  if (spec.yLabel) {
    root.append(svg("text", { x: 0, y: 12, class: "axis-label" }, spec.yLabel));
  }
  for (const value of y.ticks(Math.max(3, Math.round((box.bottom - box.top) / 38)))) {
    const at = y.at(value);
    root.append(svg("line", { x1: box.left, x2: box.right, y1: at, y2: at, class: "grid" }),
      svg("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, spec.yWords(value)));
  }
  root.append(svg("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom,
    class: "axis" }));
  const ticks = x.names || spec.xTicks || x.ticks(Math.max(2, Math.round(width / 90)));
  for (const value of ticks) {
    const at = x.at(value);
    if (!x.names) {
      root.append(svg("line", { x1: at, x2: at, y1: box.bottom, y2: box.bottom + 4,
        class: "axis" }));
    }
    const words = x.names ? String(value) : spec.xWords(value);
    if (lean) {
      root.append(svg("text", { transform: `translate(${at + 4},${box.bottom + 13})rotate(-32)`,
        "text-anchor": "end" }, words.replace("\n", ", ")));
    } else {
      words.split("\n").forEach((line, i) => root.append(
        svg("text", { x: at, y: box.bottom + 17 + 13 * i, "text-anchor": "middle" }, line)));
    }
  }
  if (spec.xLabel) {
    root.append(svg("text", { x: (box.left + box.right) / 2, y: height - 5, class: "axis-label",
      "text-anchor": "middle" }, spec.xLabel));
  }
  return { root, x, y, box };
}

// The values of x, if they are few and far enough apart to be the ticks.
function measuredTicks(values, scale, width) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const f = scale === "linear" ? (v) => v : Math.log;
  const span = f(sorted[sorted.length - 1]) - f(sorted[0]);
  const apart = sorted.every((v, i) => i === 0 || f(v) - f(sorted[i - 1]) > (38 / width) * span);
  return sorted.length && sorted.length <= 9 && apart ? sorted : null;
}

function drawLines(spec) {
  const { marks, styles, plot, over } = spec;
  const [, high] = plot.low_high;
  const placed = [...marks, ...over].filter((mark) => mark.x !== null);
  const byName = placed.some((mark) => typeof mark.x === "string");
  const names = [...new Set(placed.map((mark) => mark.x))];
  const scale = spec.yScale || "linear";
  const values = [...spec.shared, ...[...marks, ...over].flatMap((mark) => mark.bar)];
  if (!byName) spec.xTicks = measuredTicks(names, plot.x_scale, spec.width);
  const { root, x, y, box } = frame(spec, (inner) => ({
    x: byName ? nameScale(names, inner.left, inner.right)
      : numberScale(plot.x_scale, names, inner.left, inner.right),
    y: numberScale(scale, values, inner.bottom, inner.top, { zero: true, padding: 0.05 }),
  }));
  const points = [];
  for (const [series, style] of Object.entries(styles)) {
    const all = marks.filter((mark) => mark.series === series && y.has(mark.y));
    const own = all.filter((mark) => mark.column !== high);
    if (!own.length) continue;
    const group = groupOf(series, style);
    const upper = all.filter((mark) => mark.column === high && !mark.doubtful).sort((a, b) => a.x - b.x);
    if (upper.length) {
      group.append(lineFor(upper.map((mark) => [x.at(mark.x), y.at(mark.y)]), { variant: 2 }, 1.2));
    }
    for (const level of own.filter((mark) => mark.x === null)) {
      group.append(svg("line", { x1: box.left, x2: box.right, y1: y.at(level.y), y2: y.at(level.y),
        stroke: "currentColor", "stroke-width": 1.4, "stroke-dasharray": dashes[2] }));
      points.push({ x: (box.left + box.right) / 2, y: y.at(level.y), series, style,
        says: saysMark(level, level.column) });
    }
    const onLine = own.filter((mark) => mark.x !== null);
    if (!byName) onLine.sort((a, b) => a.x - b.x);
    // A doubtful mark measured no rate, so the line breaks there.
    const runs = [[]];
    for (const mark of onLine) {
      if (mark.doubtful) runs.push([]);
      else runs.at(-1).push([x.at(mark.x), y.at(mark.y)]);
    }
    for (const run of runs.filter((one) => one.length)) group.append(lineFor(run, style));
    for (const mark of onLine) {
      const [px, py] = [x.at(mark.x), y.at(mark.y)];
      group.append(svg("line", { x1: px, x2: px, y1: y.at(mark.bar[0]), y2: y.at(mark.bar[1]),
        stroke: "currentColor", "stroke-width": 1.2 }), markerAt(px, py, style, 4.2, mark.doubtful));
      const at = `${plot.x || "x"} ${short(mark.x)}`;
      const p99 = upper.find((one) => one.x === mark.x);
      points.push({ x: px, y: py, series, style,
        says: `${at}: ${saysMark(mark, mark.column)}${p99 ? `; to ${saysMark(p99, high)}` : ""}` });
    }
    root.append(group);
  }
  addRings(root, spec, (mark) => [x.at(mark.x), y.at(mark.y)], points);
  return { root, points };
}

// Bars and ranges stand side by side, one place for each series.
function places(spec, marks) {
  const shown = Object.keys(spec.styles).filter((name) => marks.some((m) => m.series === name));
  const names = [...new Set(marks.map((mark) => mark.x))];
  return { shown, names,
    offset: (series, band) => (shown.indexOf(series) - (shown.length - 1) / 2) *
      ((band * 0.82) / shown.length),
    width: (band) => (band * 0.82) / shown.length };
}

function hatch(root, colour) {
  const id = `hatch-${hatch.count = (hatch.count || 0) + 1}`;
  root.append(svg("defs", {}, svg("pattern", { id, width: 7, height: 7, class: `c-${colour}`,
    patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("rect", { width: 7, height: 7, fill: "var(--paper)" }),
  svg("line", { x1: 0, x2: 0, y1: 0, y2: 7, stroke: "currentColor", "stroke-width": 3 }))));
  return `url(#${id})`;
}

// In a figure of one series: where x are the schemes, each has its own colour.
function styleOfBar(style, name, alone) {
  const scheme = alone && Object.hasOwn(data.schemes, name) ? data.schemes[name] : null;
  return scheme ? { ...style, colour: scheme[0], marker: scheme[1] } : style;
}

function drawBars(spec) {
  const { marks, styles, over } = spec;
  const { shown, names, offset, width } = places(spec, [...marks, ...over]);
  const { root, x, y, box } = frame(spec, (inner) => ({
    x: nameScale(names, inner.left, inner.right),
    y: numberScale(spec.yScale || "linear", [...spec.shared, ...[...marks, ...over].flatMap(
      (mark) => mark.bar)], inner.bottom, inner.top, { zero: true, padding: 0.08 }),
  }));
  const points = [];
  const fills = {};
  for (const series of shown) {
    const group = groupOf(series, styles[series]);
    for (const mark of marks.filter((one) => one.series === series && y.has(one.y))) {
      const style = styleOfBar(styles[series], mark.x, shown.length === 1);
      const wide = Math.max(2, width(x.band) * 0.9);
      const [px, py] = [x.at(mark.x) + offset(series, x.band), y.at(mark.y)];
      const fill = !style.unsafe ? (style.variant ? "var(--paper)" : "currentColor")
        : fills[style.colour] || (fills[style.colour] = hatch(root, style.colour));
      group.append(svg("rect", { x: px - wide / 2, y: Math.min(py, box.bottom), width: wide,
        height: Math.max(0, box.bottom - py), fill, stroke: "currentColor",
        class: mark.doubtful ? "doubtful" : `c-${style.colour}` }));
      if (mark.low !== mark.high) {
        group.append(svg("line", { x1: px, x2: px, y1: y.at(mark.bar[0]), y2: y.at(mark.bar[1]),
          stroke: "var(--ink)", "stroke-width": 1.2 }));
      }
      points.push({ x: px, y: py, series, style,
        says: `${mark.x}: ${saysMark(mark, mark.column)}` });
    }
    root.append(group);
  }
  addRings(root, spec, (mark) => [x.at(mark.x) + offset(mark.series, x.band), y.at(mark.y)], points,
    shown.length === 1);
  return { root, points };
}

// From one column to another, as from p50 to p99.
function drawRanges(spec) {
  const { marks, styles, plot } = spec;
  const [low, high] = plot.low_high;
  const { shown, names, offset } = places(spec, marks);
  const { root, x, y } = frame(spec, (inner) => ({
    x: nameScale(names, inner.left, inner.right),
    y: numberScale(spec.yScale || "log", [...spec.shared, ...marks.flatMap((mark) => mark.bar)],
      inner.bottom, inner.top, { padding: 0.1 }),
  }));
  const points = [];
  for (const series of shown) {
    const group = groupOf(series, styles[series]);
    for (const name of names) {
      const style = styleOfBar(styles[series], name, shown.length === 1);
      const [from, to] = [low, high].map((column) => marks.find((mark) =>
        mark.series === series && mark.x === name && mark.column === column));
      if (!from || !to || !y.has(from.y)) continue;
      const px = x.at(name) + offset(series, x.band);
      group.append(svg("g", { class: from.doubtful ? "doubtful" : `c-${style.colour}` },
        svg("line", { x1: px, x2: px, y1: y.at(from.y), y2: y.at(to.y), stroke: "currentColor",
          "stroke-width": 2.2 }),
        svg("line", { x1: px - 5, x2: px + 5, y1: y.at(from.y), y2: y.at(from.y),
          stroke: "currentColor", "stroke-width": 2.2 }),
        markerAt(px, y.at(to.y), { ...style, marker: "D", variant: 0 }, 3.8)),
      ...[from, to].map((mark) => svg("line", { x1: px, x2: px, y1: y.at(mark.bar[0]),
        y2: y.at(mark.bar[1]), stroke: "var(--ink)", "stroke-width": 1.2 })));
      points.push({ x: px, y: y.at(to.y), series, style,
        says: `${name}: ${saysMark(from, low)} to ${saysMark(to, high)}` });
    }
    root.append(group);
  }
  return { root, points };
}

const nameOfStack = (mark) => (mark.x && mark.series ? `${mark.x}\n${mark.series}`
  : String(mark.x || mark.series));

function sumsOf(marks) {
  const sums = {};
  for (const mark of marks) sums[nameOfStack(mark)] = (sums[nameOfStack(mark)] || 0) + mark.y;
  return Object.values(sums);
}

function drawStacked(spec) {
  const { marks, plot, parts } = spec;
  const names = [...new Set(marks.map(nameOfStack))];
  const { root, x, y } = frame(spec, (inner) => ({
    x: nameScale(names, inner.left, inner.right),
    y: numberScale("linear", [...spec.shared, ...sumsOf(marks)], inner.bottom, inner.top, { zero: true }),
  }));
  const points = [];
  const bottoms = Object.fromEntries(names.map((name) => [name, 0]));
  plot.columns.forEach((column, i) => {
    const part = parts[i];
    const group = groupOf(part.name, part);
    for (const mark of marks.filter((one) => one.column === column)) {
      const name = nameOfStack(mark);
      const [from, to] = [y.at(bottoms[name]), y.at(bottoms[name] + mark.y)];
      bottoms[name] += mark.y;
      const wide = Math.min(90, x.band * 0.76);
      group.append(svg("rect", { x: x.at(name) - wide / 2, y: to, width: wide,
        height: Math.max(0, from - to), fill: "currentColor", stroke: "var(--paper)" }));
      points.push({ x: x.at(name), y: (from + to) / 2, series: part.name, style: part,
        says: `${name.replace("\n", ", ")}: ${saysMark(mark, column)}` });
    }
    root.append(group);
  });
  return { root, points };
}

// Distributions (low and high are of x) and time series.
function drawTraces(spec) {
  const { traces, styles, plot, over } = spec;
  const cdf = plot.kind === "cdf";
  const all = [...traces.flatMap((trace) => trace.points),
    ...over.map((mark) => [mark.x, mark.y, mark.x, mark.x])];
  const { root, x, y } = frame(spec, (inner) => ({
    x: numberScale(plot.x_scale, all.flatMap((p) => (cdf ? [p[2], p[3]] : [p[0]])), inner.left,
      inner.right, { padding: 0.01 }),
    y: numberScale(spec.yScale || "linear", cdf ? [0, 1] : all.map((p) => p[1]), inner.bottom,
      inner.top, { zero: true }),
  }));
  const points = [];
  for (const trace of traces) {
    const style = styles[trace.series];
    const group = groupOf(trace.series, style);
    const usable = trace.points.filter((p) => x.has(p[0]) && y.has(p[1]));
    if (!usable.length) continue;
    if (cdf) {
      const edge = [...usable.map((p) => [x.at(p[2]), y.at(p[1])]),
        ...usable.map((p) => [x.at(p[3]), y.at(p[1])]).reverse()];
      group.append(svg("path", { d: `M${edge.map((p) => p.join(",")).join("L")}Z`,
        fill: "currentColor", opacity: 0.16 }));
    }
    group.append(lineFor(usable.map((p) => [x.at(p[0]), y.at(p[1])]), style, cdf ? 2 : 1.6));
    for (const [value, other, low, high] of usable) {
      const says = cdf
        ? `${short(100 * other)} % within ${duration(value)} (${duration(low)} to ` +
          `${duration(high)})`
        : `${short(value)} s: ${wordsOf(trace.column)(other)}`;
      points.push({ x: x.at(value), y: y.at(other), series: trace.series, style, says });
    }
    root.append(group);
  }
  addRings(root, spec, (mark) => [x.at(mark.x), y.at(mark.y)], points);
  return { root, points };
}

// A line for each log, and from each transaction to those of other logs whose rows it overwrites.
function drawDependencies(spec) {
  const { edges, parts } = spec;
  const streams = [...new Set(edges.flatMap((e) => [e[1], e[3]]))].sort((a, b) => a - b);
  const { root, x, y } = frame({ ...spec, yWords: (i) => `log ${streams[i]}` }, (inner) => ({
    x: numberScale("linear", edges.flatMap((e) => [e[0], e[2]]), inner.left, inner.right,
      { padding: 0.01 }),
    y: { at: (i) => inner.top + ((i + 0.5) * (inner.bottom - inner.top)) / streams.length,
      ticks: () => streams.map((_, i) => i) },
  }));
  const points = [];
  parts.forEach((part, i) => {
    const group = groupOf(part.name, part);
    for (const [fromAt, from, at, stream, tight] of edges.filter((e) => e[4] === (i === 0))) {
      const [x1, y1] = [x.at(fromAt), y.at(streams.indexOf(from))];
      const [x2, y2] = [x.at(at), y.at(streams.indexOf(stream))];
      group.append(svg("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-width": 0.9,
        opacity: 0.6 }), svg("circle", { cx: x2, cy: y2, r: 1.4, fill: "var(--ink)" }));
      points.push({ x: x2, y: y2, series: tight ? "tight" : "", style: part,
        says: `transaction ${at} in log ${stream} needs ${fromAt} in log ${from}` });
    }
    root.append(group);
  });
  return { root, points };
}
