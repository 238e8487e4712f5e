"use strict";
// The dot plot of the first screen: our number over the published one, in a row for each result.
// dots.py places the dots, and draws the same plot for VERDICTS.md.

const ratioWords = (ratio) => (ratio >= 1 ? short(ratio) : `1/${short(1 / ratio)}`);

function dotStyle(dot) {
  const [colour, marker] = data.screen.judges[dot.judge];
  return { colour, marker, variant: dot.derived ? 1 : 0 };
}

const ringAt = (cx, cy) => svg("circle", { cx, cy, r: 7, class: "ring" });

// Draws the dots of one paper, or of all.
function drawDots({ width, paper: only = "" }) {
  const { band } = data.screen;
  const kept = data.screen.rows.map((row, i) => [row, i]).filter(([{ paper }]) => !only || paper === only);
  const rows = kept.map(([row]) => row);
  const dots = data.screen.dots.map((dot) => ({ ...dot, row: kept.findIndex(([, i]) => i === dot.row) }))
    .filter((dot) => dot.row >= 0);
  const titles = width > 800;
  const margin = titles ? 420 : 130;
  const step = 15;
  const { root, x, y, box } = frame({ width, height: rows.length * step + 52, margin,
    yWords: () => "", xWords: ratioWords, xTicks: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50,
      100].filter((_, i) => width > 600 || i % 3 === 0), xLabel: "our number / the published number (log scale)",
    label: "Our numbers over the published ones: arrow keys walk along the dots" }, (inner) => ({
    x: numberScale("log", [0.01, 100, ...dots.map((dot) => dot.ratio)], inner.left, inner.right,
      { padding: 0.01 }),
    y: { at: (row) => inner.top + (row + 0.5) * ((inner.bottom - inner.top) / rows.length),
      ticks: () => rows.map((_, i) => i) },
  }));
  const [from, to] = band.map(x.at);
  root.prepend(svg("rect", { x: from, y: box.top, width: to - from, height: box.bottom - box.top,
    class: "band" }), svg("line", { x1: x.at(1), x2: x.at(1), y1: box.top, y2: box.bottom,
    class: "axis" }));
  rows.forEach(({ id, paper, title }, i) => {
    const at = y.at(i) + 4;
    const first = i === 0 || rows[i - 1].paper !== paper;
    if (first) {
      const line = y.at(i) - step / 2;
      root.append(svg("line", { x1: 0, x2: box.right, y1: line, y2: line, class: "axis" }),
        svg("a", { href: `#paper=${encodeURIComponent(paper)}` },
          svg("text", { x: 0, y: at, class: "paper" }, paper)));
    }
    root.append(svg("a", { href: `#${id.toLowerCase()}` }, svg("text", { x: 88, y: at }, id,
      ...(titles ? [svg("tspan", { x: 130 }, title)] : []))));
  });
  const points = dots.map((dot) => {
    const [px, py] = [x.at(dot.ratio), y.at(dot.row) - dot.lane * step];
    const style = dotStyle(dot);
    root.append(svg("g", { class: `dot c-${style.colour}${dot.derived ? "" : " full"}`, role: "img", "aria-label": dot.says },
      ...(dot.ringed ? [ringAt(px, py)] : []), markerAt(px, py, style, dot.derived ? 4 : 4.8)));
    return { x: px, y: py, says: dot.says };
  });
  return { root, points };
}

function dotsLegend() {
  return element("ul", { class: "legend" }, ...Object.values(data.screen.judges).map(
    ([colour, marker, says]) => element("li", {}, element("span", {}, svg("svg", { width: 14, height: 14,
      class: `c-${colour}`, "aria-hidden": "true" }, markerAt(7, 7, { marker, variant: 0 }, 4.4)), says))),
  data.screen.dots.some((dot) => dot.derived) ? element("li", {}, element("span", {},
    svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, markerAt(7, 7,
      { marker: "o", variant: 1 }, 4.4)), data.screen.derived)) : "",
  data.screen.dots.some((dot) => dot.ringed) ? element("li", {}, element("span", {},
    svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, ringAt(8, 8)), data.screen.ringed)) : "",
  element("li", {}, element("span", {}, svg("svg", { width: 22, height: 14, "aria-hidden": "true" },
    svg("rect", { width: 22, height: 14, class: "band" })), "agrees: a half to two")));
}
