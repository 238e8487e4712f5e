"""Writes VERDICTS.md: on its first screen a line for each paper and the dot plot, then a line for
each result. The report and the page begin with the same screen. Also writes the table of
docs/REPRODUCING.md.

All counts are of checks. Sentences about a paper come from config/papers.toml."""

from experiments import findings, pace_predictions, papers, report, verdicts
from experiments.analysis import cores_of
from experiments.findings import BY_DEVICE, NATIVE, SIMULATED
from experiments.report import HEAD, counts_in_words, table
from experiments.store import number_of

COUNTS = [*verdicts.EVERY, NATIVE, SIMULATED]
BY = {NATIVE: "judged natively", SIMULATED: "by simulation"}  # the heads of the last two columns
HEADS = [BY.get(column, column) for column in COUNTS]
FORMULAS = 2  # that the screen names
LEAST_JUDGED = 3  # checks of a paper of which a share says something
ALIKE = 0.05  # shares of checks that differ less have no order


def _cells(found):
    return [str(number) for number in findings.counts(found).values()] if found else len(COUNTS) * [""]


def _judged(found):
    """Returns the words of the judged checks, without those that a device's formula decides."""
    return [one.word for one in found if one.word in verdicts.OWN]


def share(found):
    """Returns which share of a paper's judged checks agrees, or None for fewer than LEAST_JUDGED."""
    own = _judged(found)
    return own.count(verdicts.AGREES) / len(own) if len(own) >= LEAST_JUDGED else None


def least(of_papers):
    """Names the paper with the smallest share, and those that do not differ from it by ALIKE. The
    shares of the others follow."""
    shares = {paper: one for paper, found in of_papers.items() if (one := share(found)) is not None}
    said = {paper: f"{paper} ({100 * one:.0f} % of {len(_judged(of_papers[paper]))} judged checks)"
            for paper, one in sorted(shares.items(), key=lambda pair: pair[1])}
    last = [paper for paper in said if shares[paper] < min(shares.values()) + ALIKE]
    others = ", ".join(said[paper] for paper in said if paper not in last)
    verb = "agrees" if len(last) == 1 else "agree"
    return (f"**{' and '.join(said[paper] for paper in last)} {verb} least**"
            f"{'; others: ' * bool(others)}{others}.") if said else ""


def _real_machine(entries):
    """Returns the name of what judges natively: "a real machine of 2 cores"."""
    cores = sorted({cores_of(entry.native.measured.origin) for entry in entries if entry.native})
    return f"a real machine of {' or '.join(map(str, cores)) or 'no'} cores"


def _ids(found):
    """Returns the results' ids, with their numbers of checks: "A4, A9a (3 checks)"."""
    ids = [one.id for one in found]
    return ", ".join(name + (f" ({ids.count(name)} checks)" if ids.count(name) > 1 else "")
                     for name in dict.fromkeys(ids))


def _where_native(found, machine):
    native = [one for one in found if one.judge == NATIVE and one.word in verdicts.OWN]
    if not native:
        return f"**Where {machine} judges**: nowhere."
    said = [f"{verdicts.counted(len(of), word)} ({_ids(of)})" for word in verdicts.OWN
            if (of := [one for one in native if one.word == word])]
    return (f"**Where {machine} judges**: {', '.join(said)}. All other judged checks are judged by a "
            "simulated machine alone.")


def _unsteady(entries):
    said = []
    for name, simulated in ((NATIVE, False), (SIMULATED, True)):
        runs = [run for entry in entries for run in entry.runs if run.simulated == simulated]
        rows = sum(len(run.measured.rows) for run in runs)
        said.append(f"{sum(run.unsteady for run in runs):,} of {rows:,} {name}")
    return ("**Unsteady rows** judge nothing. A row is one run with one setting. It is unsteady if "
            f"its window shows no steady rate: {' and '.join(said)} rows.")


def _headline(found, machine, total):
    number = findings.counts(found)
    return (f"**Of {len(found)} checks of {total['of']} published results "
            f"{number[verdicts.AGREES]} agree, {number[verdicts.DIRECTION]} have the direction only, "
            f"{number[verdicts.DISAGREES]} disagree, and {number[verdicts.UNTESTED]} are not tested.** "
            f"{number[verdicts.DEVICE]} others repeat a formula of the device that we configured, and "
            f"say nothing about a log. Of the first three kinds, {machine} judges {number[NATIVE]}, and "
            f"a simulated machine alone {number[SIMULATED]}.{_open(total['untested'])}")


def _open(ids):
    """Names the results of which fewer than half of the checks are tested."""
    return (f" Open {'is' if len(ids) == 1 else 'are'} {', '.join(ids)}: more than half of the checks "
            "are not tested.") if ids else ""


WORDS = """\
A check is a sentence or a number of its paper. It *agrees* if the sentence holds, or if our \
number is between half and twice the published one (a check may have another range, and says why). \
*Direction only*: not so near, but within 5 times, and with the published order of what is compared. \
*By a device's formula*: the check agrees, and a formula of the device that we configured (its \
latency, bandwidth and number) gives our number, whatever the log does. \
*Not tested*: too few cores, rounds that disagree, or no steady rows. *Judged* are the checks of the \
first three kinds: natively if the native rows decide, else by simulation. A difference of less than \
2 times between two simulated logs is within the error of the model"""


CAUSES = """\
The causes: *model*, a constant of the simulated machine is assumed or wrong; *machine*, ours differs \
from the paper's; *implementation*, our engine or scheme differs; *setting*, the paper does not state \
a setting, or ours differs; *paper*, its own numbers contradict each other; *unknown*, nobody has \
found it."""


PACES = """\
Our transactions are shorter than those of the papers' engines. A *pace* is the time that each \
transaction works more. It was found on one published number of its paper, and then frozen \
([paces](../config/papers/paces.toml)), so every other check of the paper is a prediction. *Without \
the pace* is the same check of the simulated rows without it. Checks that a device's formula decides, \
and the number on which a pace was found, do not count."""


def _formulas(found):
    said = [f"{formula} ({number} checks)" for formula, number in
            papers.formulas(found).most_common(FORMULAS)]
    decided = [one for one in found if one.word == verdicts.DEVICE]
    return (f"**A device's formula** decides {_ids(decided)}; most often {'; '.join(said)}."
            if said else "")


def counts(of_papers, names):
    """Returns the columns and lines of the counts. `names` writes a Paper's name."""
    everything = [one for paper in of_papers for one in paper.findings]
    lines = [[names(paper), str(len(paper.findings)), *_cells(paper.findings)] for paper in of_papers]
    return ["paper", "checks", *HEADS], [*lines, ["all", str(len(everything)), *_cells(everything)]]


def sentences(of_papers, entries, total):
    found, machine = [one for paper in of_papers for one in paper.findings], _real_machine(entries)
    return [line for line in (
        _headline(found, machine, total), least({paper.name: paper.findings for paper in of_papers}),
        _where_native(found, machine), _formulas(found), _unsteady(entries)) if line]


def screen(of_papers, entries, total, picture, words, names=lambda paper: paper.name):
    """Returns the lines of the first screen in Markdown."""
    headline, *more = sentences(of_papers, entries, total)
    drawn = [one for paper in of_papers for one in paper.findings if one.ratio]
    by_device = sum(one.judge == BY_DEVICE for one in drawn)
    return [headline, "", words, "",
            table(*counts(of_papers, names)), *(f"- {line}" for line in more), "",
            f"![Our numbers over the published ones]({picture})", "",
            f"The picture has the {len(drawn)} checks with a published number: {len(drawn) - by_device} that "
            f"are judged, and {by_device} to which a device's formula gives our number (squares). Checks of "
            "a sentence have no mark. At the left ours is smaller. A hollow mark: the paper does not print "
            "the number, it follows from other numbers or from words. A ring: the check has a range of its "
            "own, by which it disagrees inside the band, or agrees outside.", "",
            table(["paper", "why checks do not agree", "how many, by cause", "what would settle it"],
                  [[paper.name, paper.why, papers.causes(paper.findings), paper.settle]
                   for paper in of_papers]), CAUSES, ""]


def _command(entry, run):
    """Returns the words after `scripts/figures.py run` that make the rows of a Run again."""
    one, rounds = entry.experiment, run.measured.rounds
    machine = ""
    if run.simulated:
        own = one.simulated and one.simulated.machine == run.profile
        machine = " --simulated" if own else f" --machine={run.profile}"
    of_file = one.form(run.size, run.simulated and one.simulated is not None).rounds
    machine += " --paced" * run.paced
    more = f" --{'seeds' if run.simulated else 'rounds'}={rounds}" if rounds != of_file else ""
    return f"{one.id} --{run.size}{machine}{more}"


def _minutes(run):
    """Returns the minutes of a Run's rows: by the clock, or of one core if they are simulated."""
    cells = [number_of(row.get("host_seconds")) for row in run.measured.rows]
    return (sum(cells) if run.simulated and None not in cells else run.seconds()) / 60


def _megabytes(run):
    cells = [number_of(row.get("memory_end_mb")) for row in run.measured.rows]
    known = [cell for cell in cells if cell is not None]
    return f"{max(known):,.0f}" if known else "not measured"


def appendix(entries):
    """Returns the table of docs/REPRODUCING.md: how to make the rows again that judge a result, and
    which verdicts one must see. All rows of a result that nothing judges are there."""
    lines = []
    for entry in entries:
        judges = {id(one.run) for one in entry.findings if one.judge}
        runs = [run for run in entry.runs if not judges or id(run) in judges]
        for run in [] if entry.experiment.own else runs:
            found = [one for one in entry.findings if one.run is run and one.judge]
            found += [one for one in entry.findings if run is runs[-1] and not one.judge]
            lines.append([", ".join(entry.ids), entry.experiment.title, f"`{_command(entry, run)}`",
                          "1" if run.simulated else str(cores_of(run.measured.origin)),
                          f"{_minutes(run):.1f}", _megabytes(run),
                          counts_in_words(findings.counts(found)) if found else verdicts.PICTURE])
    return table(["id", "result", "`scripts/figures.py run`", "cores", "minutes", "MB",
                  "one must see"], lines)


def _predictions(entries):
    columns, lines = pace_predictions.table_of(entries)
    return ["## What one pace for each paper predicts", "", PACES, "", table(columns, lines)
            ] if lines else []


def page(entries, total):
    entries = [entry for entry in entries if not entry.experiment.own]
    of_results = []
    for entry in entries:
        one, run = entry.experiment, entry.shown
        rows = sum(len(each.measured.rows) for each in entry.runs)
        of_results.append([
            f"[{', '.join(entry.ids)}](../config/figures/{one.id.lower()}.toml)", one.source,
            one.title, str(len(entry.findings)) if entry.findings else verdicts.PICTURE,
            *_cells(entry.findings), f"{sum(each.unsteady for each in entry.runs)} of {rows}",
            run.revision[:12] if run else ""])
    return "\n".join([
        HEAD.replace("report", "verdicts"), "# The verdicts on the published results", "",
        *screen(papers.of_entries(entries), entries, total, "verdicts.png",
                f"{WORDS} ([VALIDATION](../docs/VALIDATION.md))."),
        *_predictions(entries), "## Each result", "",
        "`scripts/figures.py report` builds a page for each paper (numbers, quotations, reasons, rows), and "
        "`scripts/figures.py serve` the page with plots.",
        "[CHANGED_CHECKS.md](CHANGED_CHECKS.md) has the checks that were removed, loosened or tightened.",
        "", table(["id", "paper", "result", "checks", *HEADS, "unsteady rows", "revision of the rows"],
                  of_results),
    ]).rstrip() + "\n"


def index(entries, total):
    """Returns REPORT.md: the screen, and what was measured. The pages of the papers lie beside it."""
    published = [entry for entry in entries if not entry.experiment.own]
    return "\n".join([
        HEAD, "# The published results, made again", "",
        *screen(papers.of_entries(published), published, total, "../verdicts.png", f"{WORDS}.",
                lambda paper: f"[{paper.name}]({paper.slug}.md)"), "",
        "[logjam's own measurements](own.md) are in no paper. The same with plots to look into: "
        "`scripts/figures.py serve`.", "", "## What was measured", "",
        *map(report.plain, report.summary_lines(total))]).rstrip() + "\n"
