"""Makes an experiment from axes on the command line, instead of from a file.

    scripts/sweep.sh --out=x.csv workload=tpcc,ycsb log=centr,eleda threads=1,2 rounds=3 -- --seconds=5

Every flag of logjam can be an axis. `log=every` stands for all schemes, each on the device that it
needs. If an axis is given a second time, it gets one more value, which may contain commas:
`flush=txns:8,us:500 flush=us:50`. A sweep omits a refused point, and prints logjam's reason.
"""

import contextlib
import difflib
import re
import shlex
import tempfile

from experiments import analysis, file_flags, refusals, round_loop, runner, store, submit
from experiments.definition import Experiment
from experiments.doubts import MOST_FULL_PCT
from experiments.errors import Refused
from experiments.files import alone
from experiments.store import axes_of
from experiments.text_tables import heads_and_lines, notes, print_lines, print_table, say

SETTINGS = ("rounds", "budget")  # words without dashes that are not axes


def of_rows(rows):
    axes = {}
    for row in rows:
        for axis, value in axes_of(row).items():
            values = axes.setdefault(axis, [])
            if value not in values:
                values.append(value)
    return Experiment({"id": "sweep", "title": "A sweep", "claim": "", "grid": [{"axes": axes}]},
                      "the sweep")


def flags_of(words):
    """Returns a dict of flags from `--name=value` words. A flag without value has None."""
    flags = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise Refused(f"{word} is not a flag of logjam: after `--` come flags, --NAME=VALUE")
        flags[name.replace("-", "_")] = value if equals else None  # gflags takes - and _
    return flags


def refuse_option(word, options):
    """Refuses an option that sweep.sh does not have; says what to write instead."""
    name, equals, value = word.lstrip("-").partition("=")
    if name in SETTINGS:
        raise Refused(f"{word}: write {name}={value if equals else 'N'}, without dashes")
    near = difflib.get_close_matches(f"--{name}", options, 1, 0.85)
    if near:
        raise Refused(f"sweep.sh has no option --{name}; did you mean {near[0]}?")
    raise Refused(f"sweep.sh has no option --{name}: write {name}={value or 'VALUE,...'} to sweep "
                  f"over it; what all points have goes after -- (-- --{name}{equals}{value})")


def values_of(words):
    """Maps each NAME in `words` (NAME=TEXT) to the list of its TEXTs, with their commas."""
    given = {}
    for word in words:
        name, _, values = word.partition("=")
        if not re.fullmatch(r"\w+", name) or not values:
            raise Refused(f"{word} is not an axis: NAME=VALUE,VALUE,... is")
        given.setdefault(name, []).append(values)
    return given


def rounds_of(words):
    """Returns the number of rounds, and an Auto that may add rounds, or None."""
    given = values_of(words)
    for name in SETTINGS:
        if len(given.get(name, [])) > 1:
            raise Refused(f"{name} is given twice")
    rounds = given.get("rounds", ["3"])[0]
    auto = round_loop.auto_of(rounds, given.get("budget", [None])[0])
    if auto:
        return round_loop.LEAST_ROUNDS, auto
    if not re.fullmatch("[0-9]{1,6}", rounds) or int(rounds) == 0:
        raise Refused(f"rounds={rounds} is not a number of rounds, nor auto:5%")
    return int(rounds), None


def split_axes(words):
    """Returns {axis: values} of the axes whose text is split at its commas."""
    return {name: texts[0].split(",") for name, texts in values_of(words).items()
            if len(texts) == 1 and "," in texts[0] and name not in SETTINGS}


def sweep(words, flags, command="run"):
    for word in (*words, *flags):
        if not word.isprintable():
            raise Refused(f"{word!r} has a control character, or is no text")
    rounds, _ = rounds_of(words)
    axes = {name: "every" if texts == ["every"] else
            texts[0].split(",") if len(texts) == 1 else texts
            for name, texts in values_of(words).items() if name not in SETTINGS}
    if not axes:
        raise Refused("a sweep needs at least one axis, NAME=VALUE,VALUE,...")
    of_all = flags_of(flags)
    both = sorted(set(axes) & set(of_all))
    if both:
        raise Refused(f"--{both[0]} is an axis and a flag of all points")
    told = "overwrite" in of_all
    for name, values in [*axes.items(), *((name, [value]) for name, value in of_all.items())]:
        for value in [values] if isinstance(values, str) else values:
            file_flags.refuse(name, value, told)
    said = " ".join([*words, *(["--", *flags] if flags else [])])
    return Experiment({
        "id": "sweep", "title": "A sweep", "claim": shlex.quote(said),
        "grid": [{"command": command, "axes": axes, "flags": of_all}],
        "full": {"rounds": rounds, "seconds": 0},
        "table": {"columns": ["tps", "commit_p50_us", "commit_p99_us", "log_mb_s"] if command == "run"
                  else ["inserts_s", "mb_s", "ns_insert"],
                  "if_above": {"offered_s": 0, "backlog": 0, "pipeline_full_pct": MOST_FULL_PCT}},
    }, "the sweep")


def run(args):
    experiment = sweep(args.axes, args.flags, args.command_of_logjam)
    if args.submit:
        return _submit(args, experiment)
    with contextlib.ExitStack() as held, runner.runners(args, args.out, args.beside_out) as made:
        for _, path in made:
            held.enter_context(alone(path, "another --out"))
        return _run_here(args, experiment, [(one, store.Store(path)) for one, path in made])


def _taken(args, experiment, one):
    points = experiment.points("full", lambda: runner.schemes_of(one.logjam))
    taken, refused = refusals.checked(one, points, split_axes(args.axes))
    for line in refusals.lines(points, refused):
        say(line)
    return taken


def _print_table(experiment, rows, auto):
    """Prints the table. With `auto`, prints the rounds of each point, and whether they suffice."""
    found = analysis.Measured(experiment, rows)
    table = found.table()
    if auto:
        of_points = [round_loop.values_of(rows, axes, experiment.table_columns[0])
                     for axes in found.points()]
        late = f", not within {auto.percent:g} %"
        table["rounds"] = [f"{len(values)}{'' if auto.is_narrow(values) else late}"
                           for values in of_points]
    print_lines(*heads_and_lines(table))
    for line in notes(found):
        say(line)


def _submit(args, experiment):
    if rounds_of(args.axes)[1]:
        raise Refused("rounds=auto looks at each round before the next: not with --submit")
    logjam = runner.logjam_of(args.logjam)
    with tempfile.TemporaryDirectory() as folder, runner.Runner(logjam, folder) as one:
        points = _taken(args, experiment, one)
    if submit.submit(args, experiment, points, experiment.sizes["full"].rounds, args.out, logjam,
                     skip_refused=True):
        print_table(analysis.Measured(experiment, store.Store(args.out).rows))
    return 0


def _run_here(args, experiment, pairs):
    for _, rows in pairs:
        if args.fresh:
            rows.remove()
    one, rows = pairs[0]
    points = _taken(args, experiment, one)
    rounds, auto = rounds_of(args.axes)
    progress = round_loop.Progress(0)
    if auto:
        every = round_loop.Rounds(auto, points, pairs, experiment.table_columns[0])
        refused = every.run("sweep", progress)
    else:
        jobs = round_loop.jobs_of(points, rounds, pairs)
        progress.total = len(jobs)
        refused = round_loop.run_jobs("sweep", jobs, pairs, progress, skip_refused=True)
    progress.end()
    for line in refusals.lines(points, refused):
        say(line)
    if rows.rows:
        _print_table(experiment, rows.rows, auto)
    say(f"{len(rows.rows)} rows in {args.out}{runner.disturbed([one for one, _ in pairs])}")
    return 0 if rows.rows else runner.BAD_INPUT
