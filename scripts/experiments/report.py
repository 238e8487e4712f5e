"""Writes the sections of results for the report in Markdown, and the report's first sentences.

Nothing is written by hand: sentences come from the experiments' files, numbers and verdicts from
the rows. papers.py joins the sections to a page for each paper.
"""

import os
import pathlib
import re

from experiments import check_values, files, verdicts
from experiments.store import number_of
from experiments.style import short, short_machine
from experiments.text_tables import EMPTY, heads_and_lines, notes, thrown_away

HEAD = "<!-- Written by scripts/figures.py report. Do not edit: it is overwritten. -->\n"


def cell(value):
    if value is None or value != value:
        return EMPTY
    said = value if isinstance(value, str) else short(value, 4)
    return said.replace("|", "\\|").replace("\n", " ")


def plain(said):
    """Returns a text in which Markdown finds no HTML, links or code."""
    return re.sub(r"([\\`<>\[\]&!])", r"\\\1", said) if isinstance(said, str) else said


def table(columns, lines):
    return "\n".join(["| " + " | ".join(cell(name) for name in columns) + " |",
                      "|" + "---|" * len(columns),
                      *("| " + " | ".join(cell(value) for value in line) + " |"
                        for line in lines)]) + "\n"


def anchor(entry):
    return entry.experiment.id.lower()


def with_unit(value, unit):
    said = short(value)
    return said if not said or not unit else said + ("" if unit in ("x", "%") else " ") + unit


def numbers_of(run):
    """Returns texts of our number and of the published number. Ours is "" if the run lacks it, or
    judges none of the checks."""
    given = run.measured.wanted
    unit = given.get("unit", "")
    published = with_unit(given.get("published"), unit)
    judges = not run.checks or any(verdict in verdicts.JUDGED for _, verdict in run.checks)
    return (with_unit(run.measured.number() if judges else None, unit),
            f"{published} (derived)" if published and given.get("derived") else published)


def command_of(entry, run):
    size = f" --{run.size}" if run else " --quick"
    machine = f" --machine={run.profile}" if run and run.simulated else ""
    return f"scripts/figures.py run {entry.experiment.id}{size}{machine} --fresh --plot"


def _verb(number, one, many):
    return f"{number} {one if number == 1 else many}"


def counts_in_words(checks):
    """Returns a text like "10 agree, 1 not tested", without verdicts that do not occur."""
    return ", ".join(verdicts.counted(checks[word], word)
                     for word in verdicts.EVERY if checks[word]) or "there are none"


def summary_lines(total):
    """Returns sentences without markup: what was measured, where and when."""
    said = []
    if total["simulated"]:
        said.append("A simulated machine has the papers' cores and a model of their costs: nothing here "
                    "proves what 64 real cores do.")
    if total["machines"]:
        dates = " to ".join(dict.fromkeys(total["dates"]))
        said.append(f"Measured on {' and '.join(total['machines'])}"
                    + (f", {dates}" if dates else "")
                    + f", revision {', '.join(total['revisions'])}, in the size "
                    f"{' and '.join(total['sizes'])}: {total['rows']:,} runs in "
                    f"{total['minutes']:.0f} minutes{thrown_away(total['thrown_away'])}.")
        said += [f"{line}." for line in total["doubts"]]
    if total["simulated"]:
        said.append("A simulated machine judges checks of "
                    f"{_verb(total['decided_simulated'], 'result', 'results')}, for which this one has too "
                    "few cores. "
                    f"The {total['simulated_rows']:,} simulated runs, of revision "
                    f"{', '.join(total['simulated_revisions'])}, are of "
                    + "; ".join(total["simulated"])
                    + ". Simulated rows are never mixed with rows that this machine measured.")
    if total["outdated"]:
        said.append(_verb(total["outdated"], "result was", "results were")
                    + " measured with other settings than the files have now: the verdict is that of "
                    "the earlier settings, and the section says so.")
    if total["stale"]:
        said.append(_verb(total["stale"], "result has rows", "results have rows")
                    + " of code or presets that have changed since; the section says how much.")
    said.append("A number is the median of the rounds, a ratio the median of the rounds' ratios; "
                "\u00b1% is half of the 95 % interval of the rounds' mean (Student's t).")
    return said


def _relative(path, folder):
    return pathlib.Path(os.path.relpath(pathlib.Path(path).resolve(),
                                        pathlib.Path(folder).resolve())).as_posix()


STARVED = 10  # as in `logjam micro`


def _code(said):
    return "`" + said.replace("`", "") + "`"


def about_the_logs(rows):
    """Returns sentences about logs that differ from their papers, and about starved threads."""
    differing = {row["log"]: row["log_differs"] for row in rows if row.get("log_differs")}
    said = [f"{_code(log)} differs from its paper: {plain(why)}."
            for log, why in sorted(differing.items())]
    starved = [row for row in rows if (number_of(row.get("most_inserts")) or 0) >
               STARVED * (number_of(row.get("least_inserts")) or 0)]
    if starved:
        logs = ", ".join(_code(log) for log in sorted({row["log"] for row in starved}))
        said.append(f"In {len(starved)} of {len(rows)} rows a thread starved, of {logs}: the rate is "
                    "that of the others.")
    return said


def check_line(run, check, verdict):
    """Returns a line with a check's verdict, the published words, and the measured numbers."""
    needs = max(run.measured.experiment.needs_cores, check.get("needs_cores", 1))
    aside = [f"needs {needs}"] if verdict == verdicts.OPEN else []
    if verdict == verdicts.UNDECIDED:
        aside.append("more of them would decide")
    if "device_bound" in check:
        aside.append(f"formula: {check['device_bound']}")
    said = f"**{verdict}**{' (' + '; '.join(aside) + ')' if aside else ''}: {check['says']}"
    beside = check_values.beside_published(run.measured, check)
    numbers = "; ".join(f"{asked}: {answer}"
                        for asked, answer in check_values.of_check(run.measured, check))
    return ". ".join(part for part in (said, beside, numbers and f"Measured: {numbers}") if part)


def figure_lines(entry, run, folder):
    if not run or not files.is_there(run.figure):
        return []
    one = entry.experiment
    return [f"![{one.id}: {one.title}]({_relative(run.figure, folder)})", ""]


def run_lines(entry, run, folder, shown_above):
    one = entry.experiment
    words, note = run.words
    said = [f"**{words}**{f' ({note})' if note else ''} on "
            f"{plain(run.machine) or 'an unknown machine'}, revision {plain(run.revision)}, "
            f"size {run.name}, {run.measured.rounds} rounds"
            + (f"; {run.measured.thrown_away} runs thrown away" if run.measured.thrown_away else "")
            + ".", ""]
    ours, published = numbers_of(run)
    if ours:
        said += [f"{run.measured.wanted['what']}: **{ours}**"
                 + (f", published {published}." if published else "."), ""]
    if not shown_above or run is not entry.shown:
        said += figure_lines(entry, run, folder)
    if run.outdated:
        said.append(f"- **Outdated**: {run.outdated} of {len(run.measured.rows)} rows were made with "
                    "other settings than the file has now.")
    if run.stale:
        said.append(f"- **Stale**: {plain(run.stale)}.")
    said += [f"- {line}" for line in about_the_logs(run.measured.rows)]
    for check, verdict in run.checks:
        said.append(f"- {check_line(run, check, verdict)}")
    frame = run.measured.table()
    if one.checks:
        said.append("")
    if one.table_columns and len(frame):
        columns, lines = heads_and_lines(frame)
        said.append(table(columns, [list(map(plain, line)) for line in lines]))
    said += [f"{plain(line)}.\n" for line in notes(run.measured)]
    said += ["Again: `" + command_of(entry, run) + "`", ""]
    return said


def section(entry, folder, shown_above=False):
    """Returns the lines of a result. If `shown_above`, they omit its first figure and its reason."""
    one = entry.experiment
    said = [f'<a id="{anchor(entry)}"></a>', f"### {', '.join(entry.ids)}: {one.title}", ""]
    for what, value in (("Source", one.source), ("Claim", one.claim), ("Published", one.published),
                        ("There", one.setting), ("Here", one.here),
                        ("Simulated", one.simulated.here if one.simulated else ""),
                        ("Why", "" if shown_above else entry.why or one.why)):
        if value:
            said.append(f"- {what}: {value}")
    quoted = [f"- The paper: {check['quotes']}" for check in one.checks if "quotes" in check]
    said += [*dict.fromkeys(quoted), ""]
    if not entry.runs:
        said += ["Not run. `" + command_of(entry, None) + "` runs it.", ""]
    for run in entry.ordered:
        said += run_lines(entry, run, folder, shown_above)
    for made in entry.tables:
        said += [f"**{made.title}**", "", *(f"{line}\n" for line in made.sentences),
                 table(made.columns, made.lines)]
    return said


def own_page(entries, folder):
    """Returns the page of the measurements that are in no paper."""
    said = [HEAD, "# logjam's own measurements", "", "[All papers](REPORT.md)", ""]
    for entry in entries:
        if entry.experiment.own:
            said += section(entry, folder)
    return "\n".join(said).rstrip() + "\n"


def machine_name(run):
    return run.label if run.simulated else short_machine(run.machine) or "unknown"


def list_of_figures(published):
    """Returns the table for docs/REFERENCES.md: published results, their files and claims."""
    lines = []
    for one in published:
        more = max((check.get("needs_cores", 1) for check in one.checks), default=1)
        cores = f"some checks: {more}" if more > 1 else ""
        if one.needs_cores > 1:
            cores = str(one.needs_cores)
        ids, file = ", ".join([one.id, *one.also]), f"{one.id.lower()}.toml"
        lines.append([f"[{ids}](../config/figures/{file})", one.source, one.title, one.claim, cores])
    return table(["id", "figure", "result", "claim", "cores"], lines)
