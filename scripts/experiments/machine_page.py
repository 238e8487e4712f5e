"""Shows what `make machine` measured: a machine's own page, and several machines side by side."""

import base64
import html
import itertools
import pathlib
import string
import tempfile

from experiments import doubts, files, machine_file, validation
from experiments.analysis import Measured
from experiments.definition import Experiment
from experiments.errors import Refused
from experiments.machine_points import LOADS, PRESENTED, is_main
from experiments.store import axes_of
from experiments.text_tables import heads_and_lines, print_lines, say, shown

LETTERS = string.ascii_uppercase[:8]  # a name for each machine
WHERE = {"native": "measured", "simulated": "simulated with the profile measured on it"}


def of_rows(rows, title, claim="", **fields):
    """Returns the Measured of these rows, with the axes that the rows have."""
    axes = {}
    for row in rows:
        for axis, value in axes_of(row).items():
            axes.setdefault(axis, {})[value] = None
    grid = [{"axes": {axis: list(values) for axis, values in axes.items()}}]
    return Measured(Experiment({"id": "machine", "title": title, "claim": claim, "grid": grid,
                                **PRESENTED, **fields}, title), rows)


def table(heads, lines):
    number = [all(not isinstance(line[i], str) for line in lines) for i in range(len(heads))]

    def line_of(tag, cells):
        return "<tr>" + "".join(
            f"<{tag}{' class=n' * is_number}>{html.escape(shown(cell))}</{tag}>"
            for cell, is_number in zip(cells, number)) + "</tr>"
    return "<table>" + line_of("th", heads) + "".join(
        line_of("td", line) for line in lines) + "</table>"


def sentences(said):
    return "".join(f"<p>{html.escape(line)}</p>" for line in said)


def picture(measured):
    """Returns the figure of a Measured as HTML."""
    from experiments import plots  # matplotlib takes a second to load
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "main points.png")
        plots.draw(measured.experiment, measured, path, {})
        png = base64.b64encode(path.read_bytes()).decode()
    return f'<img src="data:image/png;base64,{png}" alt="{html.escape(measured.experiment.title)}">'


def pictures(rows, title, claim="", **fields):
    """Returns figures as HTML: one of transactions, and one of all else, which is far faster."""
    of_transactions = [(row.get("axis_load") or row["axis_what"]).startswith(tuple(LOADS))
                       for row in rows]
    parts = {"transactions": list(itertools.compress(rows, of_transactions)),
             "words, locks, log inserts": [row for row, is_one in zip(rows, of_transactions)
                                           if not is_one]}
    return "\n".join(picture(of_rows(part, f"{title}: {name}", claim, **fields))
                     for name, part in parts.items() if part)


def _plain(rows, columns):
    return [[row.get(column, "") for column in columns] for row in rows]


def matrix(rows):
    """Returns the heads and lines of the hand-off times: a line for each core, in ns."""
    cores = sorted({int(row[name]) for row in rows for name in ("core", "other")})
    times = {frozenset((row["core"], row["other"])): float(row["ns"]) for row in rows}
    return (["core", *map(str, cores)],
            [[str(one), *(times.get(frozenset((str(one), str(other)))) for other in cores)]
             for one in cores])


def _agreement(one, other, words):
    """Returns a sentence about the points that both lists of rows have, without unsteady rows."""
    if doubts.no_comparison(one) or doubts.no_comparison(other):
        return words.format("no comparison, because others used the cores")
    try:
        cells = validation.cells(*(of_rows([row for row in rows if not doubts.unsteady(row)],
                                           "machine") for rows in (one, other)))
    except Refused as none:
        return str(none)
    near = sum(cell.near for cell in cells)
    return words.format(f"{near} of {len(cells)} points are within {100 * validation.NEAR:.0f} %; "
                        "pairs of alternatives at equal threads that rank alike, by their ratio: "
                        + validation.by_band(cells))


def summary(content):
    """Returns sentences: how near the simulation is, and how many rows are doubtful."""
    simulated = [_agreement(content["native"], content["simulated"],
                            "Simulated and measured: {}.")] if content["simulated"] else []
    return [*simulated, *doubts.sentences(content["native"]),
            *(f"Simulated: {line}" for line in doubts.sentences(content["simulated"]))]


def own_page(content, name):
    """Returns the page of a machine. It ends with the data that machine_file.read() reads."""
    read = machine_file.with_rows(content)
    parts = [sentences([*read["said"], *summary(read)]),
             table(["the machine", ""], list(read["card"].items()))]
    for key in machine_file.ROWS:
        rows = [row for row in read[key] if is_main(axes_of(row))]
        if rows:
            parts += [f"<h2>{WHERE[key].capitalize()}</h2>",
                      pictures(rows, f"The main points, {key}", read["card"]["processor"])]
    if read["hand_off"]:
        parts += ["<h2>Between two cores</h2>",
                  sentences(["ns until a line is at another core's compare-and-swap"]),
                  table(*matrix(read["hand_off"]))]
    if read["disk"]:
        columns = machine_file.TABLES["disk"]
        parts += ["<h2>Durable writes</h2>", table(columns, _plain(read["disk"], columns))]
    for key in machine_file.ROWS:
        if read[key]:
            measured = of_rows(read[key], key)
            parts += [f"<h2>All points, {WHERE[key]}</h2>",
                      table(*heads_and_lines(measured.table()))]
    if read["profile"]:
        parts += ["<h2>Profile</h2>", f"<pre>{html.escape(read['profile'])}</pre>"]
    return machine_file.page(name, [*parts, machine_file.data_part(content)], "machine.py")


def _medians(measured):
    """Maps the points (sorted axes) to the medians of their rates. Each row of a file has a rate."""
    return {tuple(sorted(axes.items())): measured.median("per_s", axes)
            for axes in measured.points()}


def _name(letter, key):
    return f"{letter}, simulated" if key == "simulated" else letter


def beside(contents):
    """Returns the heads and the lines of the table with all points of all machines."""
    names = [_name(*of) for of in itertools.product(LETTERS[:len(contents)], machine_file.ROWS)]
    found = [_medians(of_rows(content[key], key)) for content in contents
             for key in machine_file.ROWS]
    points = sorted({point for of in found for point in of},
                    key=lambda point: [(axis, len(value), value) for axis, value in point])
    axes = machine_file.AXES
    return [*axes, *names], [[*(dict(point).get(axis, "") for axis in axes),
                              *(of.get(point) for of in found)] for point in points]


def _drawn(contents):
    """Returns the rows of the main points, with the axes `what` (a panel), threads, and `machine` (a
    line), which is also simulated."""
    rows = []
    for letter, content in zip(LETTERS, contents):
        for key in machine_file.ROWS:
            for row in content[key]:
                axes = axes_of(row)
                if is_main(axes):
                    kept = {name: of for name, of in row.items() if not name.startswith("axis_")}
                    on = f" on {axes['device']}" if "device" in axes else ""
                    rows.append({**kept, "machine": f"{len(contents)} machines", "revision": "",
                                 "axis_threads": axes["threads"],
                                 "axis_what": f"{axes['load']}{on}: "
                                              f"{axes.get('log', axes.get('way'))}",
                                 "axis_machine": _name(letter, key)})
    return rows


def compare(paths, out):
    """Prints the files' machines side by side, and writes the page `out`."""
    if len(paths) > len(LETTERS):
        raise Refused(f"at most {len(LETTERS)} machines fit side by side")
    contents = [machine_file.read(path) for path in paths]
    said = []
    for letter, content in zip(LETTERS, contents):
        card = content["card"]
        said += [f"{letter}: {line}" for line in (
            f"{card['processor']}, {card.get('logjam may use', '')}", *content["said"],
            *summary(content))]
    for (a, one), (b, other) in itertools.combinations(zip(LETTERS, contents), 2):
        said.append(_agreement(one["native"], other["native"], f"{a} and {b}: {{}}."))
    names = list(dict.fromkeys(name for content in contents for name in content["card"]))
    cards = [[name, *(content["card"].get(name, "") for content in contents)] for name in names]
    heads, lines = beside(contents)
    print_lines(heads, [line for line in lines
                        if is_main(dict(zip(machine_file.AXES, line)))])
    for line in said:
        say(line)
    files.write(out, machine_file.page("Machines side by side", [
        sentences(said), table(["", *LETTERS[:len(contents)]], cards),
        pictures(_drawn(contents), "The main points side by side", plot={
            **PRESENTED["plot"], "series": "machine", "panels": "what"}), "<h2>All points</h2>",
        sentences(["Medians of operations, inserts or transactions a second."]),
        table(heads, lines)], "figures.py machines"))
    say(f"written: {out}")
    return 0
