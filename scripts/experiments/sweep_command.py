"""The command behind scripts/sweep.sh: a sweep is checked, run, and its table printed."""

import contextlib
import tempfile

from experiments import analysis, refusals, round_loop, runner, store, submit, sweep
from experiments.alone import alone
from experiments.text_tables import print_table, say


def run(args):
    """Runs what is missing of the sweep here, or sends it to other machines."""
    experiment = sweep.sweep(args.axes, args.flags, args.command_of_logjam)
    if args.submit:
        return _submit(args, experiment)
    with contextlib.ExitStack() as held, runner.runners(args, args.out, args.beside_out) as made:
        for _, path in made:
            held.enter_context(alone(path))
        return _run_here(args, experiment, [(one, store.Store(path)) for one, path in made])


def _taken(args, experiment, one):
    """Returns the points that logjam takes, after saying which it does not."""
    points = experiment.points("full", lambda: runner.schemes_of(one.logjam))
    taken, refused = refusals.checked(one, points, sweep.split_axes(args.axes))
    for line in refusals.lines(points, refused):
        say(line)
    return taken


def _submit(args, experiment):
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
    jobs = round_loop.jobs_of(points, experiment.sizes["full"].rounds, pairs)
    progress = round_loop.Progress(len(jobs))
    refused = round_loop.run_jobs("sweep", jobs, pairs, progress, skip_refused=True)
    progress.end()
    for line in refusals.lines(points, refused):
        say(line)
    if rows.rows:
        print_table(analysis.Measured(experiment, rows.rows))
    say(f"{len(rows.rows)} rows in {args.out}{runner.disturbed([one for one, _ in pairs])}")
    return 0 if rows.rows else runner.BAD_INPUT
