"""Prints rows: tables, our numbers beside the published numbers, verdicts."""

import math

from experiments import check_values, doubts, verdicts
from experiments.analysis import MARGIN

EMPTY = "\u2013"  # the cell of a missing value


def say(text="", end="\n"):
    print(text, end=end, flush=True)


def shown(value):
    """Returns a value as text with four digits, or a whole number with thousands separators."""
    if value is None or value != value:
        return EMPTY
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def heads_and_lines(table):
    """Returns the columns' heads and the lines of a table. Intervals have two digits."""
    intervals = [name.endswith(MARGIN) for name in table.columns]
    heads = [MARGIN.strip() if is_one else name
             for name, is_one in zip(table.columns, intervals)]
    return heads, [[None if cell is None or cell != cell or cell in (math.inf, -math.inf) else
                    round(float(f"{cell:.2g}"), 1) if is_one else cell
                    for cell, is_one in zip(line, intervals)] for line in table.values.tolist()]


def notes(found):
    return [said for said in (found.groups().sentence(), *doubts.sentences(found.rows)) if said]


def thrown_away(number):
    """Returns the number of repeated runs as the end of a sentence, or ""."""
    return f"; {number} more were thrown away, because others used the cores" if number else ""


def print_table(found):
    print_lines(*heads_and_lines(found.table()))
    for line in notes(found):
        say(line)


LATEX = {**{one: f"\\{one}" for one in "&%$#_{}"}, "\\": r"\textbackslash{}", "~": r"\textasciitilde{}",
         "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
         '"': "''", EMPTY: "--", "\u00b1": r"$\pm$", "\u00b5": r"\textmu{}"}


def in_latex(text):
    return "".join(LATEX.get(one, one) for one in text)


def booktabs(columns, values, said):
    """Returns a LaTeX table for the package booktabs. `said`: what its caption must say, a comment."""
    left = [all(isinstance(line[i], str) for line in values) for i in range(len(columns))]
    lines = [" & ".join(in_latex(shown(cell)) for cell in line) + r" \\" for line in values]
    return "\n".join([f"% \\usepackage{{booktabs}}; the caption: {said}",
                      rf"\begin{{tabular}}{{{''.join('l' if one else 'r' for one in left)}}}", r"\toprule",
                      " & ".join(map(in_latex, columns)) + r" \\", r"\midrule", *lines, r"\bottomrule",
                      r"\end{tabular}", ""])


def print_lines(columns, values):
    lines = [columns] + [[shown(value) for value in line] for line in values]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    left = [all(isinstance(line[i], str) for line in values) for i in range(len(columns))]
    for line in lines:
        say("  ".join(text.ljust(width) if to_left else text.rjust(width)
                      for text, width, to_left in zip(line, widths, left)).rstrip())


def print_measured(experiment, found):
    """Prints the table and the checks. Returns whether no check disagrees or lacks rows."""
    say(f"\n{experiment.id}: {experiment.title}"
        + (f" ({experiment.source})" if experiment.source else ""))
    print_table(found)
    number = found.number()
    if number is not None:
        wanted = found.wanted
        unit = wanted.get("unit", "")
        unit = unit if unit in ("x", "%") else " " + unit
        say(f"{wanted['what']}: {shown(number)}{unit}"
            + (f", published {shown(wanted['published'])}{unit}" if "published" in wanted else ""))
    checks = found.checks()
    for check, verdict in checks:
        beside = check_values.beside_published(found, check)
        needs = max(experiment.needs_cores, check.get("needs_cores", 1))
        aside = f", needs {needs}" if verdict == verdicts.OPEN else ""
        say(f"[{verdict}{aside}] {check['says']}" + (f" ({beside})" if beside else ""))
    if checks:
        say(verdicts.line_of_figure(experiment, checks))
    return not {verdicts.DISAGREES, verdicts.MISSING} & {verdict for _, verdict in checks}


def print_checks(experiments):
    for one in experiments:
        say(f"\n{one.id}: {one.title} ({one.source})")
        for check in one.checks or [{}]:
            say(f"  the paper: {check.get('quotes') or 'nothing that a check could test'}")
            for name in ("says", "holds", "ours", "published", "derived", "band", "shape",
                         "because", "device_bound", "cause", "needs_cores"):
                if name in check:
                    say(f"{name + ':':>12} {check[name]}")
