"""Keeps a line for each revision in build/history/history.csv, and shows where the rates changed.

`figures.py history --beside=BINARY` measures the points of config/experiments/history.toml with the
program and with BINARY in turn, and adds a line: for each point the program's rate over BINARY's.
BINARY stays the same, so it takes the machine's slow and fast phases out of the lines. The rows are
kept beside the file. Without --beside, the command shows the lines that there are.
"""

import math
import pathlib
import re
import statistics

from experiments import changes, definition, doubts, files, round_loop, runner, store
from experiments.analysis import Measured
from experiments.definition import Experiment
from experiments.errors import Refused
from experiments.text_tables import print_lines, say

ID = "history"
ABOUT = ("revision", "began", "machine", "reference", "rounds")
MOST_SHOWN = 12  # lines of the printed table
SHORT = 12  # letters of a revision


def typical(values):
    """Returns the mean of the middle values, without a fifth at each end: an outlier moves it little,
    and it scatters less than the median."""
    left_out = len(values) // 5
    return statistics.fmean(sorted(values)[left_out:len(values) - left_out])


def line_of(ours, reference, experiment):
    """Returns the line of a revision from the rows of its program and of the reference."""
    new, old = (Measured(experiment, rows) for rows in (ours, reference))
    line = {"revision": ours[0]["revision"], "began": ours[0]["began"],
            "machine": store.machine_of(ours[0]), "reference": reference[0]["binary"],
            "rounds": str(new.rounds)}
    for point in experiment.points("quick"):
        rates, others = new.column("tps", point.axes), old.column("tps", point.axes)
        ratios = [math.log(rates[number] / others[number]) for number in rates if number in others]
        line[point.name] = f"{math.exp(typical(ratios)):.4f}"
    return line


def read(path):
    """Returns the lines of the file, [] if there is none. Refuses a file that is not a history."""
    lines = files.read_rows(path) if files.is_there(path) else []
    points = [name for name in (lines[0] if lines else ()) if name not in ABOUT]
    for number, line in enumerate(lines, 1):
        if not set(ABOUT) < set(line) or None in line or not all(
                (store.number_of(line[point]) or 0) > 0 for point in points):
            raise Refused(f"{path} is no history: its line {number} lacks {', '.join(ABOUT)} or a ratio")
    for column in ("machine", "reference"):
        if len({line[column] for line in lines}) > 1:
            raise Refused(f"{path} has lines of more than one {column}, which cannot be compared")
    return lines


def series_of(lines):
    """Maps the points to the logarithms of their ratios, a number for each line."""
    return {name: [math.log(float(line[name])) for line in lines]
            for name in (lines[0] if lines else ()) if name not in ABOUT}


def measure(args, path, lines):
    """Measures the program beside the reference, and returns the lines with a new one."""
    experiment, folder = definition.find(ID), path.parent
    logjam = runner.logjam_of(args.logjam)
    revision = runner.revision_of(logjam)
    if not revision or revision.endswith("-dirty") or revision == "unknown":
        raise Refused(f"{logjam} is of the revision {revision or 'unknown'}, which names no sources: "
                      "commit, and build again")
    if revision in [line["revision"] for line in lines]:
        return lines
    digest = runner.digest(runner.logjam_of(args.beside))
    if lines and lines[-1]["reference"] != digest:
        raise Refused(f"{path} has ratios to the binary {lines[-1]['reference']}, and --beside is "
                      f"{digest}: name the same binary, or another --results")
    of_revision = folder / revision
    with runner.runners(args, of_revision / "ours.csv", of_revision / "reference.csv") as made:
        pairs = [(one, store.Store(rows)) for one, rows in made]
        jobs = round_loop.jobs_of(experiment.points("quick"), experiment.sizes["quick"].rounds, pairs)
        progress = round_loop.Progress(len(jobs))
        try:
            round_loop.run_jobs(ID, jobs, pairs, progress)
        finally:
            progress.end()
    rows = [rows.rows for _, rows in pairs]
    for sentence in doubts.sentences([row for of in rows for row in of]):
        say(sentence)
    if doubts.no_comparison(rows[0]) or doubts.no_comparison(rows[1]):
        raise Refused(f"no line is added: remove {of_revision}, and measure on a quiet machine")
    line = line_of(*rows, experiment)
    if lines and (line["machine"] != lines[-1]["machine"] or set(line) != set(lines[-1])):
        raise Refused(f"{path} is of {lines[-1]['machine']} or of other points: name another --results")
    files.append_row(path, line)
    return [*lines, line]


def short(point):
    """Returns the name of a point without those of its axes."""
    return re.sub(r"\w+=", "", point)


def sentence_of(change, lines):
    """Returns what changed, by how much and since when."""
    return (f"{short(change.series)}: {change.ratio:.3f} of before since {lines[change.index]['revision'][:SHORT]} "
            f"(line {change.index + 1} of {len(lines)}; standard error {100 * change.noise:.1f} %)")


def draw(lines, said, path):
    """Draws the ratios of all points over the lines of the file."""
    from experiments import plots  # matplotlib takes a second to load
    made_by = " to ".join(lines[at]["revision"][:SHORT] for at in (0, -1))
    rows = [{"round": "1", "axis_line": str(number), "axis_point": short(name), "tps": line[name],
             "machine": line["machine"], "revision": made_by}
            for number, line in enumerate(lines, 1) for name in line if name not in ABOUT]
    values = [float(row["tps"]) for row in rows]
    experiment = Experiment({
        "id": ID, "title": "Rates over those of the reference", "claim": "; ".join(said) or "No change.",
        "grid": [{"axes": {"line": [str(number) for number in range(1, len(lines) + 1)],
                           "point": list(map(short, series_of(lines)))}}],
        "plot": {"kind": "lines", "x": "line", "y": "tps", "series": "point",
                 "y_label": "rate / reference", "x_label": "line of the history",
                 "y_scale": "linear" if min(values) < 0.5 else "log"}}, str(path))
    plots.draw(experiment, Measured(experiment, rows), path, {})
    say(f"drawn: {path}")


def command(args):
    path = pathlib.Path(args.results, "history.csv")
    with files.alone(path, "another --results"):
        lines = read(path)
        if args.beside:
            lines = measure(args, path, lines)
    if not lines:
        raise Refused(f"there is no line in {path}: figures.py history --beside=BINARY adds one")
    points = list(series_of(lines))
    print_lines(["line", "revision", *map(short, points)],
                [[str(number), line["revision"], *(float(line[point]) for point in points)]
                 for number, line in list(enumerate(lines, 1))[-MOST_SHOWN:]])
    said = [sentence_of(change, lines) for change in changes.find(series_of(lines))]
    for sentence in said or [f"no change in {len(lines)} lines" if len(lines) >= changes.FEWEST else
                             f"{len(lines)} lines; changes are looked for in {changes.FEWEST} or more"]:
        say(sentence)
    draw(lines, said, path.with_suffix(".png"))
    return 0
