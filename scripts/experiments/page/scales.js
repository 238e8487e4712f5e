"use strict";
// From values to pixels, and which values an axis names. Debian's d3 would do this too, with 250 KB
// in every report for these lines; its Chart.js draws on a canvas, which neither a keyboard nor a
// test can look into.

const units = [[1e9, "G"], [1e6, "M"], [1e4, "k"]];

// 1.23M, 350k, 12.5, 0.023: as scripts/experiments/style.py writes numbers.
function short(value, digits = 3) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  const unit = units.find(([limit]) => Math.abs(value) >= limit * 0.9995);
  if (!unit) return significant(value, digits);
  return significant(value / (unit[1] === "k" ? 1e3 : unit[0]), digits) + unit[1];
}

function significant(value, digits) {
  if (Math.abs(value) >= 10 ** (digits - 1)) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(digits)));
}

// A time, given in microseconds, with the unit that suits it.
function duration(us, digits = 3) {
  const [size, unit] = us >= 1e6 ? [1e6, "s"] : us >= 1e3 ? [1e3, "ms"] : [1, "\u00b5s"];
  return `${Number((us / size).toPrecision(digits))} ${unit}`;
}

// How the values of a column are written.
function wordsOf(column) {
  if (column.endsWith("_us")) return (value, digits) => duration(value, digits);
  if (column.endsWith("_ms")) return (value, digits) => duration(value * 1000, digits);
  return short;
}

// About `count` round numbers from low to high.
function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

function logTicks(low, high, base, count) {
  const ticks = [];
  const decades = Math.log(high / low) / Math.log(base);
  const factors = base === 10 && decades < 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  for (let i = Math.floor(Math.log(low) / Math.log(base)); base ** i <= high; i++) {
    if (i % every !== 0) continue;
    for (const factor of factors) {
      const value = factor * base ** i;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

// A scale: at(value) is a pixel between `from` and `to`, ticks(count) what to name. `padding` is a
// share of the length that stays free at both ends.
function numberScale(kind, values, from, to, { zero = false, padding = 0.04 } = {}) {
  const log = kind === "log" || kind === "log2";
  const usable = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  let low = Math.min(...usable, ...(zero && !log ? [0] : []));
  let high = Math.max(...usable, ...(zero && !log ? [0] : []));
  if (!usable.length) [low, high] = log ? [1, 10] : [0, 1];
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [zero ? 0 : low - 1, high || 1];
  const f = log ? Math.log : (value) => value;
  const room = (f(high) - f(low)) * padding;
  const bottom = f(low) - (zero && !log && low === 0 ? 0 : room);
  const top = f(high) + room;
  const inverse = log ? Math.exp : (value) => value;
  return {
    at: (value) => from + ((f(value) - bottom) / (top - bottom)) * (to - from),
    ticks: (count) => (log
      ? logTicks(inverse(bottom), inverse(top), kind === "log2" ? 2 : 10, count)
      : linearTicks(bottom, top, count)),
    has: (value) => !log || value > 0,
  };
}

// Categories beside each other, each `band` pixels wide.
function nameScale(names, from, to) {
  const band = (to - from) / Math.max(1, names.length);
  return { at: (name) => from + (names.indexOf(name) + 0.5) * band, band, names };
}
