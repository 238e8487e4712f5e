"""Writes results/report/index.html: one plain file with the first screen, a page for each paper,
and plots with filters.

The page embeds the same numbers as the Markdown and the PNGs as JSON; its programs,
scripts/experiments/page/*.js, draw them. The page loads no other file, so it works without a server
and without a network.
"""

import base64
import hashlib
import html
import json
import pathlib
import re

from experiments import (check_values, curves, dots, findings, papers, report, text_tables,
                         verdicts_page)
from experiments.style import SCHEMES, component_colours, component_names

HERE = pathlib.Path(__file__).resolve().parent / "page"
PROGRAMS = ("errors.js", "scales.js", "plot.js", "dots.js", "page.js")


def rounded(value):
    """Rounds to five digits, so that the page stays small."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def plot_of(experiment):
    plot = experiment.plot
    columns = curves.columns_of(plot)
    kind = plot.get("kind", "lines")
    return {"kind": kind, "columns": columns, "y": curves.as_list(plot.get("y")),
            "x": plot.get("x", ""),
            "x_scale": plot.get("x_scale", "log" if kind == "cdf" else "linear"), "x_label": plot.get("x_label", ""),
            "y_label": curves.y_labels(plot), "low_high": plot.get("low_high", [])}


def _mark(mark):
    return {"panel": mark.panel, "series": mark.series, "x": rounded(mark.x),
            "column": mark.column, "y": rounded(mark.middle), "low": rounded(mark.low),
            "high": rounded(mark.high), "bar": [rounded(end) for end in mark.bar],
            "doubtful": mark.doubtful,
            "rounds": mark.rounds, "log": mark.facts["log"], "workload": mark.facts["workload"]}


def _trace(trace):
    points = [[rounded(value) for value in point] for point in trace.points]
    return {"panel": trace.panel, "series": trace.series, "column": trace.column,
            "points": points, "log": trace.facts["log"], "workload": trace.facts["workload"]}


def _published(experiment, series_logs):
    """Returns the published points, each with the scheme of its series or ""."""
    found = curves.published_points(experiment)
    for given in found:
        name = given["series"]
        logs = series_logs.get(name, set())
        given["log"] = name if name in SCHEMES else next(iter(logs)) if len(logs) == 1 else ""
    return found


def _facts(experiment, measured):
    points = measured.points()
    names = curves.Names(experiment, points)
    found = []
    for point in points:
        facts = curves.facts_of(measured, point)
        found.append({"series": names.of(point)[1], "log": facts["log"],
                      "workload": facts["workload"]})
    return found


def run_of(entry, run):
    one, measured = entry.experiment, run.measured
    kind = one.plot.get("kind", "lines")
    drawn = curves.drawn_of(one, measured, run.extras)
    traces, marks = (drawn, []) if kind in curves.TRACED else ([], drawn)
    edges = curves.edges(one, measured, run.extras.get("dependencies", []))
    series = curves.series_of(drawn)
    parts = component_names(curves.columns_of(one.plot)) if kind == "stacked" else []
    colours = component_colours(parts)
    if kind == "dependencies":
        colours = {name: colour for colour, name in curves.EDGE_KINDS.values()}
        parts = list(colours)
    ours, published = report.numbers_of(run)
    heads, lines = text_tables.heads_and_lines(measured.table())
    return {"name": run.name, "machine": report.machine_name(run), "of": run.machine,
            "revision": run.revision, "simulated": run.simulated, "where": run.label,
            "what": measured.wanted.get("what", ""), "rounds": measured.rounds,
            "thrown_away": measured.thrown_away, "verdict": run.badge,
            "ours": ours, "published": published,
            "command": report.command_of(entry, run),
            "stale": run.stale,
            "checks": [{"says": check["says"], "verdict": verdict, "quotes": check.get("quotes", ""),
                        "beside": check_values.beside_published(measured, check),
                        "numbers": check_values.of_check(measured, check)}
                       for check, verdict in run.checks],
            "styles": {name: vars(style)
                       for name, style in curves.styles_of(one, drawn).items()},
            "parts": [{"name": name, "colour": colours[name]} for name in parts],
            "marks": [_mark(mark) for mark in marks], "traces": [_trace(trace) for trace in traces],
            "edges": edges, "y_scale": curves.y_scale(one, drawn),
            "published_points": _published(
                one, {name: logs for name, (logs, *_) in series.items()}),
            "table": {"columns": heads, "notes": text_tables.notes(measured), "facts": _facts(one, measured),
                      "lines": [[rounded(cell) for cell in line] for line in lines]}}


def entry_of(entry):
    one = entry.experiment
    return {"ids": entry.ids, "own": one.own, "paper": findings.paper_of(one), "source": one.source, "title": one.title,
            "claim": one.claim, "published": one.published, "setting": one.setting,
            "here": one.here, "why": entry.why or one.why,
            "simulated": one.simulated.here if one.simulated else "",
            "verdict": entry.badge, "words": entry.words, "note": entry.note,
            "plot": plot_of(one), "command": report.command_of(entry, None),
            "runs": [run_of(entry, run) for run in entry.ordered],
            "tables": [{"title": made.title, "sentences": made.sentences, "columns": made.columns,
                        "lines": [[rounded(cell) for cell in line] for line in made.lines]}
                       for made in entry.tables],
            "falls": papers.what_falls(entry)}


def screen_of(entries, total):
    """Returns the data of the first screen, which are those of VERDICTS.md."""
    published = [entry for entry in entries if not entry.experiment.own]
    of_papers = papers.of_entries(published)
    columns, lines = verdicts_page.counts(of_papers, lambda paper: paper.name)
    rows, placed = dots.placed(published)
    return {"sentences": verdicts_page.sentences(of_papers, published, total),
            "columns": columns, "lines": lines, "words": verdicts_page.WORDS,
            "causes": verdicts_page.CAUSES,
            "rows": rows, "dots": placed, "judges": dots.JUDGES, "band": dots.BAND,
            "derived": dots.DERIVED, "ringed": dots.RINGED,
            "papers": [{"name": paper.name, "why": paper.why, "causes": papers.causes(paper.findings),
                        "settle": paper.settle,
                        "reasons": [entry.experiment.id for entry in paper.reasons],
                        "formulas": [f"{formula} ({number})" for formula, number in
                                     papers.formulas(paper.findings).items()]}
                       for paper in of_papers]}


def _own(name):
    return (HERE / name).read_text(encoding="utf-8")


def programs():
    return ["\n" + _own(name) for name in PROGRAMS]


def style():
    return "\n" + _own("page.css")


def policy():
    """Returns a Content-Security-Policy that allows only these scripts and this style."""
    def hashes(texts):
        digests = (hashlib.sha256(of.encode()).digest() for of in texts)
        return " ".join(f"'sha256-{base64.b64encode(of).decode()}'" for of in digests)
    return (f"default-src 'none'; script-src {hashes(programs())}; style-src {hashes([style()])}; "
            "img-src data:; base-uri 'none'; form-action 'none'")


def embedded(data):
    """Returns JSON without characters that HTML or a script could interpret."""
    return re.sub("[<>&\u2028\u2029]", lambda one: f"\\u{ord(one[0]):04x}",
                  json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def page(entries, total):
    data = {"schemes": SCHEMES, "screen": screen_of(entries, total),
            "entries": [entry_of(entry) for entry in entries]}
    values = {"policy": policy(), "style": style(), "data": embedded(data),
              "summary": "".join(f"<p>{html.escape(line)}</p>"
                                 for line in report.summary_lines(total)),
              "programs": "\n".join(f"<script>{one}</script>" for one in programs())}
    # One pass replaces all placeholders, so a placeholder in the data stays plain text.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: values[place[1]], _own("index.html"))
