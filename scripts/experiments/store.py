"""The rows of one experiment in one size: a CSV file, and one file for each kind of extra rows.

A point has one row in each round. For each new row, the file is rewritten under another name,
synced and renamed. So a killed run leaves whole rows, and the next run continues after them. Rows
of different revisions, binaries or machines never share a file: their ratio would be meaningless.
"""

import csv
import io
import math
import pathlib
import re

from experiments import files
from experiments.errors import Refused

ORIGIN = ("revision", "binary", "machine", "profile")  # profile: a checksum of the machine's file
EXTRAS = ("cdf", "timeline", "dependencies")  # flags that name a file of extra rows
ROUND = re.compile("[0-9]{1,9}")
SEED = re.compile(r", seed \d+")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# An axis has the values that its definition names, such as flush_gap_us = "auto".
NUMBERS = re.compile(r"tps|transactions|commits|inserts_s|thrown_away|(?!axis_)\w+_(us|pct)")


def number_of(cell):
    """Returns the finite number that a cell contains in ASCII digits, or None."""
    number = float(cell) if NUMBER.fullmatch(cell or "") else math.inf
    return number if math.isfinite(number) else None


def _wrong_in(row):
    """Returns how a row is damaged, as the end of a sentence, or ""."""
    if None in row or None in row.values() or not ROUND.fullmatch(row["round"]):
        return "has not as many cells as there are columns, or no round"
    if any(re.search("[\0\r\n]", cell) for cell in row.values()):
        return "has a NUL or the end of a line in a cell"
    return next((f"has {name}={cell}, which is no number" for name, cell in row.items()
                 if NUMBERS.fullmatch(name) and cell and number_of(cell) is None), "")


def _read(path):
    return rows_of(files.read_text(path), path) if files.is_there(path) else []


def rows_of(text, path):
    """Returns the rows in the text of a file. Raises Refused, with the file's name, if the text is
    damaged."""
    lines = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows, columns = list(lines), list(lines.fieldnames or [])
    except csv.Error as error:
        raise Refused(f"{path} cannot be read as CSV: {error}") from error
    if text and "round" not in columns or rows and not ROUND.fullmatch(rows[0]["round"] or ""):
        raise Refused(f"{path} is there, and holds no rows of an experiment: name another file")
    if len(set(columns)) < len(columns):
        raise Refused(f"{path} is damaged: two columns have the same name")
    for number, row in enumerate(rows, 1):
        if wrong := _wrong_in(row):
            raise Refused(f"{path} is damaged: its row {number} {wrong}")
    if text and text[-1] not in "\r\n":
        raise Refused(f"{path} is damaged: its last line has no end, so it may be torn")
    return rows


def text_of(rows):
    """Returns rows as the text of a file; "" without rows."""
    columns = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    made = io.StringIO(newline="")
    writer = csv.DictWriter(made, list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return made.getvalue() if rows else ""


def write_rows(path, rows):
    """Replaces the file's rows by these rows. If that fails, the file stays unchanged."""
    files.write(path, text_of(rows))


def axes_of(row):
    return {name[len("axis_"):]: value for name, value in row.items()
            if name.startswith("axis_") and value != ""}


def machine_of(row):
    """Returns a row's machine without the seed, which differs between simulated rounds."""
    return SEED.sub("", row.get("machine") or "")


def simulated(row):
    return machine_of(row).startswith("simulated")


def origin_of(row, column):
    return machine_of(row) if column == "machine" else row.get(column)


def key_of(row):
    return int(row["round"]), tuple(sorted(axes_of(row).items()))


class Store:
    """The rows in the file `path`. One process at a time uses it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        ending = next((end for end in (".png", *(f".{name}.csv" for name in EXTRAS))
                       if self.path.name.endswith(end)), "")
        if ending:
            raise Refused(f"{path} is no name for rows, because NAME{ending} is a file beside "
                          "NAME.csv: name another file")
        self.rows = _read(self.path)
        self._refuse_mixtures()
        keys = [key_of(row) for row in self.rows]
        if len(keys) != len(set(keys)):
            raise Refused(f"{self.path} has two rows of the same point and round")
        self.extras = {}
        for name in EXTRAS:
            # Extra rows are written first, so a killed run may leave extra rows without their row.
            lines = [line for line in _read(self.beside(name)) if key_of(line) in set(keys)]
            if lines:
                self.extras[name] = lines

    def beside(self, name):
        return self.path.with_name(f"{self.path.name.removesuffix('.csv')}.{name}.csv")

    def _refuse_mixtures(self):
        for column in ("revision", "machine", "binary") if self.rows else ():
            # The row of a product has the product's version instead of a binary.
            of_product = column == "binary" and "version" in self.rows[0]
            if not of_product and not all(row.get(column) for row in self.rows):
                raise Refused(f"{self.path} has rows without {column}, so they may be a mixture")
        for column in ORIGIN:
            found = list(dict.fromkeys(origin_of(row, column) or "none" for row in self.rows))
            if len(found) > 1:
                raise Refused(f"{self.path} has rows of the {column} {found[0]} and of {found[1]}")

    def done(self):
        return {key_of(row) for row in self.rows}

    def refuse_other_flags(self, points):
        now = {tuple(sorted(point.axes.items())): point.command_line() for point in points}
        for row in self.rows:
            given = now.get(key_of(row)[1], row.get("given"))
            if given != row.get("given"):
                raise Refused(f"{self.path} has rows made with \"{row.get('given')}\", now it is "
                              f"\"{given}\": begin anew with --fresh, or name another place")

    def key(self, point, number):
        return number, tuple(sorted(point.axes.items()))

    def add(self, point, number, outcome):
        """Adds an Outcome. Raises Refused if it comes from another revision, binary or machine."""
        self.add_all([(point, number, outcome)])

    def add_all(self, made):
        """Adds these (point, round, Outcome) triples, or none if add() would refuse one of them."""
        rows = list(self.rows)
        extras = {name: list(lines) for name, lines in self.extras.items()}
        for point, number, outcome in made:
            own = {"round": str(number),
                   **{f"axis_{axis}": value for axis, value in point.axes.items()}}
            rows.append({**own, "given": point.command_line(), **outcome.row})
            for column in ORIGIN:
                there, here = origin_of(rows[0], column), origin_of(rows[-1], column)
                if there != here:
                    raise Refused(f"{self.path} has rows of the {column} {there}, this run is of "
                                  f"{here}: begin anew with --fresh, or name another --results")
            for name, lines in outcome.extras.items():
                extras.setdefault(name, []).extend({**own, **line} for line in lines)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for name in {name for _, _, outcome in made for name in outcome.extras}:
            write_rows(self.beside(name), extras[name])
        if made:
            write_rows(self.path, rows)
        self.rows, self.extras = rows, extras

    def arrange(self, points):
        """Sorts the rows by round and point, because concurrent simulated runs end in any order."""
        place = {self.key(point, 0)[1]: index for index, point in enumerate(points)}
        ordered = sorted(self.rows, key=lambda row: (key_of(row)[0],
                                                     place.get(key_of(row)[1], len(place))))
        if ordered != self.rows:
            write_rows(self.path, ordered)
            self.rows = ordered

    def remove(self):
        for path in (self.path, *map(self.beside, EXTRAS)):
            path.unlink(missing_ok=True)
        self.rows, self.extras = [], {}
