"""The command of scripts/sweep.sh: a sweep is checked, run, and its table printed."""

import contextlib
import tempfile

from experiments import analysis, auto_rounds, refusals, round_loop, runner, store, submit, sweep
from experiments.alone import alone
from experiments.errors import Refused
from experiments.text_tables import heads_and_lines, notes, print_lines, print_table, say


def run(args):
    """Runs what is missing of the sweep here, or sends it to other machines."""
    experiment = sweep.sweep(args.axes, args.flags, args.command_of_logjam)
    if args.submit:
        return _submit(args, experiment)
    with contextlib.ExitStack() as held, runner.runners(args, args.out, args.beside_out) as made:
        for _, path in made:
            held.enter_context(alone(path, "another --out"))
        return _run_here(args, experiment, [(one, store.Store(path)) for one, path in made])


def _taken(args, experiment, one):
    """Returns the points that logjam takes, after saying which it does not."""
    points = experiment.points("full", lambda: runner.schemes_of(one.logjam))
    taken, refused = refusals.checked(one, points, sweep.split_axes(args.axes))
    for line in refusals.lines(points, refused):
        say(line)
    return taken


def _print_table(experiment, rows, auto):
    """Prints the table; with `auto`, also the rounds of each point, and whether they sufficed."""
    found = analysis.Measured(experiment, rows)
    table = found.table()
    if auto:
        of_points = [auto_rounds.values_of(rows, axes, experiment.table_columns[0])
                     for axes in found.points()]
        late = f", not within {auto.percent:g} %"
        table["rounds"] = [f"{len(values)}{'' if auto.is_narrow(values) else late}"
                           for values in of_points]
    print_lines(*heads_and_lines(table))
    for line in notes(found):
        say(line)


def _submit(args, experiment):
    if sweep.rounds_of(args.axes)[1]:
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
    rounds, auto = sweep.rounds_of(args.axes)
    progress = round_loop.Progress(0)
    if auto:
        every = auto_rounds.Rounds(auto, points, pairs, experiment.table_columns[0])
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
