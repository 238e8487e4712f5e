"""The commands of figures.py that are about simulated machines."""

import contextlib
import time

from experiments import (analysis, doubts, round_loop, runner, sensitivity, sim_runner, store,
                         validation)
from experiments.arguments import (chosen, csv_of, draw, native_csv_of, profile_of, read,
                                   size_of)
from experiments.errors import Refused
from experiments.files import alone
from experiments.text_tables import print_lines, print_measured, say


def run(args, experiments):
    """Runs what is missing of these experiments, several runs at once."""
    for name in ("submit", "beside", "beside_results", "budget", "rounds"):
        if getattr(args, name):
            raise Refused(f"--{name} does not go with a simulated machine"
                          + (": --seeds=N makes N rounds" if name == "rounds" else ""))
    with contextlib.ExitStack() as held:
        for experiment in experiments:
            held.enter_context(alone(csv_of(args, experiment), "other --results"))
        return _run_alone(args, experiments)


def _run_alone(args, experiments):
    logjam, begun = runner.logjam_of(args.logjam, simulated=True), time.monotonic()
    well, work = True, []
    for experiment in experiments:
        size, rows = size_of(args, experiment), store.Store(csv_of(args, experiment))
        if args.fresh:
            rows.remove()
        points = experiment.points(args.size, lambda: runner.schemes_of(logjam), simulated=True)
        work.append((experiment, points, rows, [
            sim_runner.Job(rows, number, point)
            for number, point in round_loop.jobs_left(points, args.seeds or size.rounds, rows)]))
    progress = round_loop.Progress(sum(len(jobs) for *_, jobs in work))
    for experiment, points, rows, jobs in work:
        machine = profile_of(args, experiment)
        with sim_runner.runners(logjam, args.wal_dir, machine, args.jobs) as made:
            try:
                sim_runner.run_jobs(experiment.id, jobs, made, progress)
            finally:
                progress.end()
        rows.arrange(points)
        well = print_measured(experiment, analysis.Measured(experiment, rows.rows)) and well
        if args.plot:
            draw(args, experiment)
    say(f"\n{progress.done} simulated runs in {time.monotonic() - begun:.0f} s")
    return 0 if well or not args.check else 1


def vary_constants(args):
    """Runs what is missing of each chosen experiment's variants, and prints what survives."""
    logjam, begun = runner.logjam_of(args.logjam, simulated=True), time.monotonic()
    for experiment in chosen(args):
        args.simulated, machine = True, profile_of(args, experiment)
        size_of(args, experiment)
        points = experiment.points(args.size, lambda: runner.schemes_of(logjam), simulated=True)
        folder = sensitivity.folder_of(args.results, experiment, machine.name)
        progress = round_loop.Progress(0)
        with alone(folder, "other --results"), \
                sim_runner.runners(logjam, args.wal_dir, machine, args.jobs) as made:
            try:
                refused = sensitivity.run(
                    experiment, points, sensitivity.variants(machine, args.constants), folder, made,
                    progress, args.seeds or 3, args.screen)
            finally:
                progress.end()
        for name, why in refused.items():
            say(f"left out: {name}: {why}")
        say(f"\n{experiment.id} on {machine.name}: {progress.done} runs, "
            f"{time.monotonic() - begun:.0f} s")
        for one in sensitivity.survivals(experiment, folder):
            say(f"{one.says}: holds in {one.holds} of {one.seeds} seeds; of {one.variants} "
                f"variants it comes out otherwise with {'; '.join(one.otherwise) or 'none'}")
    return 0


def validate(args):
    """Prints the simulated rates of each chosen experiment beside its native ones."""
    args.simulated = not args.machine
    for experiment in chosen(args):
        there = read(csv_of(args, experiment), experiment)[0]
        native = read(native_csv_of(args, experiment), experiment)[0]
        cells = validation.cells(native, there)
        print_lines(validation.columns(cells), validation.lines(cells))
        for line in (*validation.summary(cells), *doubts.sentences(native.rows)):
            say(line)
    return 0
