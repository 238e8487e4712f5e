"""What a command line selects: experiments, the machine they run on, where their rows are."""

import pathlib

from experiments import analysis, definition, files, sim_runner, store
from experiments.errors import Refused
from experiments.text_tables import say


def chosen(args):
    """Returns the experiments that the command line names. --all: all published results."""
    experiments = definition.load_all()
    if args.all and args.ids:
        raise Refused("--all and ids exclude each other")
    if args.all:
        return [one for one in experiments.values() if not one.own and
                (one.simulated or not is_simulated(args))]
    if not args.ids:
        raise Refused("name a result, like P7, or --all; `figures.py list` shows them")
    return [definition.find(name, experiments) for name in args.ids]


def is_simulated(args):
    return bool(args.machine or args.simulated)


def size_of(args, experiment):
    size = experiment.form(args.size, is_simulated(args))
    size.seconds = size.seconds if args.seconds is None else args.seconds
    return size


def profile_of(args, experiment):
    experiment.form(args.size, simulated=True)
    return sim_runner.find_machine(args.machine or experiment.simulated.machine)


def native_csv_of(args, experiment):
    folder = pathlib.Path(args.results) / experiment.id.lower()
    files.refuse_link(folder)
    return folder / f"{args.size}.csv"


def csv_of(args, experiment):
    path = native_csv_of(args, experiment)
    if is_simulated(args):
        path = path.with_stem(f"{path.stem}-{profile_of(args, experiment).name}")
    return path


def read(path, experiment):
    rows = store.Store(path)
    if not rows.rows:
        raise Refused(f"there are no rows {rows.path}: figures.py run {experiment.id} makes them")
    return analysis.Measured(experiment, rows.rows), rows


def draw(args, experiment):
    from experiments import plots  # matplotlib takes a second to load
    found, rows = read(csv_of(args, experiment), experiment)
    path = rows.path.with_suffix(".png")
    plots.draw(experiment, found, path, rows.extras)
    say(f"drawn: {path}")
