"""Writes and reads the one file of `make machine`: a page that holds its card and rows as JSON.

A file comes from somebody else's machine. So the reader takes no path, no markup and no script from
the file: only texts and numbers that pass the checks here.
"""

import html
import json
import re

from experiments import files, store
from experiments.errors import Refused
from experiments.machine_card import MOST_TEXT
from experiments.page import embedded
from experiments.store import axes_of, key_of, number_of

FORM = "logjam machine 1"
MOST_ROWS, MOST_PROFILE = 100_000, 30_000
NUMBERS = ("per_s", "commit_p50_us", "commit_p99_us", "abort_pct", "failed_pct", "cpu_pct",
           "log_mb_s", "mb_s", "threads", "others_pct", "thrown_away", "host_seconds")
TEXTS = ("log", "device", "workload", "unsteady", "unsafe", "disturbed", "began", "given",
         *store.ORIGIN)
AXES = ("load", "device", "threads", "log", "way")
TABLES = {"disk": ("sync", "write_bytes", "writes_at_once", "one_call", "writes_s", "write_mb_s",
                   "write_p50_us", "write_p99_us", "write_p999_us"),
          "hand_off": ("core", "other", "ns")}
ROWS = ("native", "simulated")
FIELDS = {"form", "card", "said", "profile", *TABLES, *ROWS}
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)
PAGE = """<!doctype html>
<!-- Written by scripts/{by}. Do not edit: it is overwritten. -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src \
'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ font: 15px sans-serif; margin: 2em auto; max-width: 1000px; padding: 0 1em }}
table {{ border-collapse: collapse; font-size: 13px; margin: 1em 0 }}
td, th {{ padding: 2px 10px 2px 0; text-align: left; border-bottom: 1px solid #ddd }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums }}
img {{ max-width: 100% }} pre {{ font-size: 12px; overflow: auto }}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def page(title, parts, by):
    """Returns a page of parts, which are HTML. `by`: the script that writes it."""
    return PAGE.format(title=html.escape(title), body="\n".join(parts), by=by)


def data_part(content):
    return f'<script type="application/json" id="data">{embedded(content)}</script>'


def trimmed(row, hide):
    """Returns the columns of a row of logjam that a file holds. `hide` removes names of a text."""
    kept = {name: of for name, of in row.items() if name in NUMBERS or name in TEXTS}
    rate = next((row[name] for name in ("tps", "inserts_s", "calls_s") if row.get(name)), "")
    return {**kept, "machine": hide(row["machine"]), "per_s": rate}


class _Wrong(Exception):
    """The message says how a file is wrong, in the end of a sentence."""


def _check(well, why):
    if not well:
        raise _Wrong(why)


def _is_text(value, most=MOST_TEXT):
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def with_rows(content, path="the file"):
    """Returns a content with lists of rows in place of the texts of its tables."""
    return {**content, **{name: store.rows_of(content[name], f"{path}, {name},")
                          for name in (*TABLES, *ROWS)}}


def _check_row(row, name):
    axes = axes_of(row)
    numbers = NUMBERS if name in ROWS else TABLES[name]
    texts = TEXTS if name in ROWS else ("sync", "one_call")
    for column, cell in row.items():
        what = f"a row of {name} has {column[:40]!r}"
        _check(column in ("round", *numbers, *texts) or column.removeprefix("axis_") in AXES,
               f"{what}, which no such row has")
        number = number_of(cell)
        _check(column not in numbers or column in texts or cell == "" or
               number is not None and 0 <= number < 1e15, f"{what} that is no number")
        _check(_is_text(cell, 4 * MOST_TEXT), f"{what} that is no printable text")
    if name in ROWS:
        _check({"load", "threads"} < set(axes) and {"log", "way"} & set(axes) and
               all(re.fullmatch(r"[\w .:+-]{1,40}", value) for value in axes.values()),
               f"a row of {name} is of no point")
        _check(re.fullmatch("[1-9][0-9]{0,3}", axes["threads"]), "its threads are no number")
        _check(number_of(row.get("per_s")) is not None, f"a row of {name} has no rate")


def _checked(content, path):
    _check(isinstance(content, dict) and content.get("form") == FORM,
           f"it does not begin with the form {FORM}")
    _check(set(content) == FIELDS, "its fields are others")
    card, said = content["card"], content["said"]
    _check(isinstance(card, dict) and 0 < len(card) < 100 and "processor" in card and
           all(_is_text(name) and _is_text(value) for name, value in card.items()),
           "its card is no list of texts")
    _check(isinstance(said, list) and len(said) < 1000 and all(map(_is_text, said)),
           "its remarks are no list of texts")
    profile = content["profile"]
    _check(isinstance(profile, str) and len(profile) <= MOST_PROFILE and
           all(map(str.isprintable, profile.splitlines())), "its profile is no text")
    _check(all(isinstance(content[name], str) for name in (*TABLES, *ROWS)), "a table is no text")
    content = with_rows(content, path)
    for name in (*TABLES, *ROWS):
        _check(len(content[name]) <= MOST_ROWS, f"it has more than {MOST_ROWS} rows of {name}")
        for row in content[name]:
            _check_row(row, name)
    for name in ROWS:
        keys = [key_of(row) for row in content[name]]
        _check(len(keys) == len(set(keys)), f"two rows of {name} are of one point and round")
        for column in store.ORIGIN:
            _check(len({store.origin_of(row, column) for row in content[name]}) < 2,
                   f"its rows of {name} have more than one {column}")
    _check(content["native"], "it has no native row")
    return content


def read(path):
    """Returns the content of a file: card, remarks, profile, and lists of rows. Raises Refused,
    with one sentence, for any other file."""
    found = DATA.search(files.read_text(path, links=True))
    try:
        _check(found, "it holds no data")
        try:
            content = json.loads(found[1])
        except (ValueError, RecursionError) as error:
            raise _Wrong("its data are no JSON") from error
        return _checked(content, path)
    except _Wrong as wrong:
        raise Refused(f"{path} is no file of `make machine`: {wrong}") from wrong
