#!/usr/bin/python3
"""Runs, draws and checks every published result.

The experiments are the files of config/figures/ (published results) and config/experiments/
(logjam's own); docs/EXPERIMENTS.md describes their form. Rows go to build/results/<id>/<size>.csv,
rows of reference runs to results/. The script continues a stopped run, and repeats disturbed runs.
With --simulated or --machine=NAME, the runs are simulated, by the program that `make sim` builds.
"""

import argparse
import contextlib
import json
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.pycache_prefix = str(ROOT / "build" / "pycache")  # no files among the sources

from experiments import (analysis, batch, definition, doubts, ensemble, files,  # noqa: E402
                         round_loop, runner, sensitivity, sim_runner, store, submit, sweep,
                         validation)
from experiments.files import alone  # noqa: E402
from experiments.errors import STOPPED, Refused, number, run_main, whole  # noqa: E402
from experiments.text_tables import print_checks, print_lines, print_measured, say  # noqa: E402

SWEEP = """A grid of runs: all combinations of the axes' values, in rounds. Any flag can be an axis:

  threads=1,2,4                     three values
  flush=txns:8,us:500 flush=us:50   two values: an axis that comes again is not split at commas
  log=every                         all schemes, each on the device that it needs
  rounds=5                          no axis, but how often each combination is run (3)
  rounds=auto:5% budget=1h          until its interval is within 5 % of the median, or for 1h (10m)

What all runs have goes after --. Combinations that logjam refuses are left out."""
WAL_DIR = str(ROOT / "build" / "wal")


def schemes_if_built():
    """Returns runner.schemes_of(), or an empty result if logjam is not built."""
    try:
        return runner.schemes_of(runner.logjam_of())
    except Refused:
        return {}


def chosen(args):
    experiments = definition.load_all()
    if args.paced and not is_simulated(args):
        raise Refused("--paced goes with --simulated or --machine: here, the cores would be the limit")
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
        path = path.with_stem(f"{path.stem}-{profile_of(args, experiment).name}"
                              + "-paced" * args.paced)
    return path


def read(path, experiment):
    rows = store.Store(path)
    if not rows.rows:
        raise Refused(f"there are no rows {rows.path}: figures.py run {experiment.id} makes them")
    return analysis.Measured(experiment, rows.rows), rows


def draw(args, experiment):
    found, rows = read(csv_of(args, experiment), experiment)
    draw_measured(args, experiment, found, rows.path, rows.extras)


def draw_measured(args, experiment, found, path, extras):
    """Writes the figure, or the table, beside the CSV file `path`, in the form of --format."""
    form, said = getattr(args, "format", "png"), ""
    path = path.with_suffix(".tex" if form == "booktabs" else f".{form}")
    if form == "png":
        from experiments import plots  # matplotlib takes a second to load
        plots.draw(experiment, found, path, extras)
    else:
        from experiments import paper_figures
        said = (paper_figures.write_table(experiment, found, path) if form == "booktabs" else
                paper_figures.draw(experiment, found, path, extras, args.columns))
    say(f"drawn: {path}" + (f"\nits caption must say: {said}" if said else ""))


def list_command(args):
    """all experiments"""
    experiments = definition.load_all()
    published = [one for one in experiments.values() if not one.own]
    if args.markdown:
        from experiments import report
        say(report.list_of_figures(published), end="")
        return 0
    if args.appendix:
        from experiments import report_data, verdicts_page
        say(verdicts_page.appendix(report_data.collect(ROOT / "results")), end="")
        return 0
    if args.checks:
        print_checks(published)
        return 0
    if args.json:
        say(json.dumps([{"id": one.id, "also": one.also, "own": one.own, "source": one.source,
                         "title": one.title, "claim": one.claim, "needs_cores": one.needs_cores,
                         "machine": one.simulated.machine if one.simulated else "",
                         "points": {size: len(one.points(size, schemes_if_built))
                                    for size in definition.SIZES}}
                        for one in experiments.values()], indent=1))
        return 0
    say(f"{'id':20} {'source':18} {'quick':>6} {'full':>6}  what (minutes: about)")
    for one in experiments.values():
        name = ", ".join([one.id, *one.also])
        minutes = [f"{one.about_seconds(size, schemes_if_built) / 60:.1f}"
                   for size in definition.SIZES]
        say(f"{name:20} {one.source or 'ours':18} {minutes[0]:>6} {minutes[1]:>6}  {one.title}"
            + (f" (needs {one.needs_cores} cores)" if one.needs_cores > 1 else "")
            + (f" (simulated: {one.simulated.machine})" if one.simulated else ""))
    say(f"\n{len(published)} published results, {len(experiments) - len(published)} of our own")
    return 0


def run_command(args):
    """measure results; continues where it was stopped"""
    experiments = chosen(args)
    if is_simulated(args):
        return run_simulated(args, experiments)
    if args.seeds or args.jobs:
        raise Refused("--seeds and --jobs go with --machine: only what is simulated has them")
    if args.submit:
        return submit_results(args, experiments)
    begun, well = time.monotonic(), True
    with contextlib.ExitStack() as held, \
            runner.runners(args, args.results, args.beside_results) as made:
        schemes = lambda: runner.schemes_of(made[0][0].logjam)
        work = []
        for experiment in experiments:
            size, pairs = size_of(args, experiment), []
            for one, results in made:
                path = pathlib.Path(results) / experiment.id.lower() / f"{args.size}.csv"
                files.refuse_link(path.parent)
                held.enter_context(alone(path, "other --results"))
                rows = store.Store(path)
                if args.fresh:
                    rows.remove()
                pairs.append((one, rows))
            points = experiment.points(args.size, schemes)
            jobs = round_loop.jobs_of(points, args.rounds or size.rounds, pairs)
            work.append((experiment, pairs, jobs))
        progress = round_loop.Progress(sum(len(jobs) for _, _, jobs in work))
        for experiment, pairs, jobs in work:
            round_loop.run_jobs(experiment.id, jobs, pairs, progress, budget=args.budget)
            progress.end()
            found = analysis.Measured(experiment, pairs[0][1].rows)
            well = print_measured(experiment, found) and well
            if args.plot:
                draw(args, experiment)
        say(f"\n{progress.done} runs in {time.monotonic() - begun:.0f} s"
            + runner.disturbed([one for one, _ in made]))
    return 0 if well or not args.check else 1


def run_simulated(args, experiments):
    for name in ("submit", "beside", "beside_results", "budget", "rounds"):
        if getattr(args, name):
            raise Refused(f"--{name} does not go with a simulated machine"
                          + (": --seeds=N makes N rounds" if name == "rounds" else ""))
    logjam, begun = runner.logjam_of(args.logjam, simulated=True), time.monotonic()
    well, work = True, []
    with contextlib.ExitStack() as held:
        for experiment in experiments:
            held.enter_context(alone(csv_of(args, experiment), "other --results"))
            size, rows = size_of(args, experiment), store.Store(csv_of(args, experiment))
            if args.fresh:
                rows.remove()
            points = experiment.points(args.size, lambda: runner.schemes_of(logjam), simulated=True,
                                       paced=args.paced)
            work.append((experiment, points, rows, [
                sim_runner.Job(rows, number, point)
                for number, point in round_loop.jobs_left(points, args.seeds or size.rounds,
                                                          rows)]))
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


def sensitivity_command(args):
    """which claims survive when a machine's constants are changed: one by one, or drawn together"""
    if args.draws is not None and args.draws < 1:
        raise Refused("--draws is at least 1")
    if args.draws and (args.constants or args.screen):
        raise Refused("--draws changes all assumed constants, and runs each draw with all seeds: "
                      "--constants and --screen do not go with it")
    logjam, begun = runner.logjam_of(args.logjam, simulated=True), time.monotonic()
    for experiment in chosen(args):
        args.simulated, machine = True, profile_of(args, experiment)
        size_of(args, experiment)
        points = experiment.points(args.size, lambda: runner.schemes_of(logjam), simulated=True)
        variants = (ensemble.draws(machine, args.draws, args.draw_seed) if args.draws else
                    sensitivity.variants(machine, args.constants))
        folder = sensitivity.folder_of(args.results, experiment, machine.name,
                                       "draws" if args.draws else "sensitivity")
        progress = round_loop.Progress(0)
        with alone(folder, "other --results"), \
                sim_runner.runners(logjam, args.wal_dir, machine, args.jobs) as made:
            try:
                refused = sensitivity.run(
                    experiment, points, variants, folder, made, progress,
                    args.seeds or (2 if args.draws else 3), args.screen)
            finally:
                progress.end()
        for name, why in refused.items():
            say(f"left out: {name}: {why}")
        say(f"\n{experiment.id} on {machine.name}: {progress.done} runs, "
            f"{time.monotonic() - begun:.0f} s")
        if args.draws:
            for title, columns, lines in ensemble.Ensemble(experiment, folder).tables():
                say(f"\n{title}")
                print_lines(columns, lines)
            continue
        for one in sensitivity.survivals(experiment, folder):
            say(f"{one.says}: agrees in {one.agrees} of {one.seeds} seeds; of {one.variants} "
                f"variants it comes out otherwise with {'; '.join(one.otherwise) or 'none'}")
    return 0


def validate_command(args):
    """simulated rates beside native ones, point by point"""
    args.simulated = not args.machine
    for experiment in chosen(args):
        there = read(csv_of(args, experiment), experiment)[0]
        native = read(native_csv_of(args, experiment), experiment)[0]
        cells = validation.cells(native, there)
        print_lines(validation.columns(cells), validation.lines(cells))
        for line in (*validation.summary(cells), *doubts.sentences(native.rows)):
            say(line)
    return 0


def submit_results(args, experiments):
    if args.budget or args.plot or args.check:
        raise Refused("--budget, --plot and --check do not go with --submit")
    if args.batch and len(experiments) > 1:
        raise Refused("--batch is of one result: each has a batch of its own")
    logjam = runner.logjam_of(args.logjam)
    for experiment in experiments:
        size, path = size_of(args, experiment), csv_of(args, experiment)
        points = experiment.points(args.size, lambda: runner.schemes_of(logjam))
        if submit.submit(args, experiment, points, args.rounds or size.rounds, path, logjam):
            print_measured(experiment, read(csv_of(args, experiment), experiment)[0])
    return 0


def plot_command(args):
    """draw figures, also for a paper, from their rows, from a sweep's, or from several machines'"""
    if args.columns != 1 and args.format not in ("pdf", "pgf"):
        raise Refused("--columns goes with --format=pdf and --format=pgf")
    paths = [name for name in args.ids if name.endswith(".csv")]
    if paths:
        from experiments import rows_plot
        args.ids = [name for name in args.ids if name not in paths]
        if len(args.ids) > 1 or args.all or is_simulated(args):
            raise Refused("the CSV files of one figure go with at most one result, and with no "
                          "--all, --machine or --simulated")
        draw_measured(args, *rows_plot.beside(rows_plot.read(paths),
                                              definition.find(args.ids[0]) if args.ids else None))
        return 0
    for experiment in chosen(args):
        draw(args, experiment)
    return 0


def check_command(args):
    """whether the claims hold"""
    well = True
    for experiment in chosen(args):
        well = print_measured(experiment, read(csv_of(args, experiment), experiment)[0]) and well
    return 0 if well else 1


def compare_command(args):
    """what moved between two results"""
    from experiments import compare  # scipy takes a second to load
    return compare.print_moved(args)


def history_command(args):
    """a line for each revision, and where the rates changed"""
    from experiments import history
    return history.command(args)


def machines_command(args):
    """files of `make machine` side by side"""
    from experiments import machine_page  # scipy takes a second to load
    return machine_page.compare(args.files, args.out)


def report_command(args):
    """the report of all results: a page for each paper, in Markdown and with plots to look into"""
    from experiments import dot_plot, page, papers, plots, report, report_data, verdicts_page
    folder = pathlib.Path(args.results)
    entries = report_data.collect(folder)
    if args.pictures:
        dot_plot.draw(entries, folder / "verdicts.png")
    for entry in entries:
        for run in entry.runs if args.pictures else []:
            plots.draw(entry.experiment, run.measured, run.figure, run.extras)
    total, folder = report_data.summary(entries), folder / "report"
    files.refuse_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("REPORT.md", verdicts_page.index(entries, total)),
                       *((f"{paper.slug}.md", papers.markdown(paper, folder))
                         for paper in papers.of_entries(entries)),
                       ("own.md", report.own_page(entries, folder)),
                       ("index.html", page.page(entries, total))):
        files.write(folder / name, text)
        say(f"written: {folder / name}")
    say(f"checks: {report.counts_in_words(total['checks'])}")
    return 0


def verdicts_command(args):
    """a line for each paper and each published result, as VERDICTS.md, and verdicts.png"""
    from experiments import dot_plot, report_data, verdicts_page
    folder = pathlib.Path(args.results)
    entries = report_data.collect(folder)
    dot_plot.draw(entries, folder / "verdicts.png")
    files.write(folder / "VERDICTS.md", verdicts_page.page(entries, report_data.summary(entries)))
    say(f"written: {folder / 'VERDICTS.md'} and {folder / 'verdicts.png'}")
    return 0


def stale_command(args):
    """which results have rows that are older than the code, presets or settings that make them"""
    from experiments import report_data
    experiments = chosen(args) if args.ids else [
        one for one in definition.load_all().values() if not one.own]
    old = 0
    for experiment in experiments:
        runs = report_data.runs_of(experiment, args.results)
        lines = [f"{run.name}: {run.old}" for run in runs if run.old] or ([] if runs else ["no rows"])
        old += bool(lines)
        for line in lines:
            say(f"{experiment.id} {line}")
    say(f"{old} of {len(experiments)} results have old rows, or no rows")
    return 1 if old else 0


def serve_command(args):
    """the page in a browser, made anew from the rows; it writes nothing"""
    from experiments import page, report_data, serve
    folder = pathlib.Path(args.results)
    if not folder.is_dir():
        raise Refused(f"{folder} is no directory, so it has no rows to show")
    entries = report_data.collect(folder)
    serve.serve(page.page(entries, report_data.summary(entries)), args.port, args.browser)
    return 0


def task_command(args):
    """run one job of a batch (what --submit submits)"""
    made = batch.Batch(args.batch)
    made.refuse_wal_dir(args.wal_dir)
    made.run(args.index)
    return 0


def merge_command(args):
    """put a batch's rows into their CSV"""
    made = batch.Batch(args.batch)
    made.refuse_csv(args.into)
    if args.forget:
        say(f"{made.forget(args.forget.split(','))} rows are forgotten")
    submit.merge(made)
    return 0


def add_ids(made):
    made.add_argument("ids", nargs="*", metavar="ID")
    made.add_argument("--all", action="store_true", help="all published results")
    made.add_argument("--results", default=str(ROOT / "build" / "results"),
                      help="where the rows are; the reference runs are in results/")
    sizes = made.add_mutually_exclusive_group()
    sizes.add_argument("--quick", dest="size", action="store_const", const="quick",
                       default="quick", help="the small size (the default)")
    sizes.add_argument("--full", dest="size", action="store_const", const="full")
    machines = made.add_mutually_exclusive_group()
    machines.add_argument("--machine", default="", metavar="NAME",
                          help="simulated: a profile of config/machines/, or x.toml")
    machines.add_argument("--simulated", action="store_true",
                          help="simulated: on the machine that each result's own file names")


def add_forms(made):
    made.add_argument("--format", choices=["png", "pdf", "pgf", "booktabs"], default="png",
                      help="pdf, pgf: for a paper, without title and verdict; booktabs: the table as LaTeX")
    made.add_argument("--columns", type=whole, choices=[1, 2], default=1,
                      help="with pdf and pgf: as wide as this many columns of a paper")


def add_pace(made):
    made.add_argument("--paced", action="store_true",
                      help="simulated: transactions take as long as in the paper's engine "
                           "(config/papers/paces.toml)")


def add_binaries(made, wal_dir=WAL_DIR):
    made.add_argument("--logjam", help="the binary; else $LOGJAM, or build/logjam")
    made.add_argument("--wal_dir", default=wal_dir, help="where the logs go, a directory of a real "
                                                         "disk; build/wal, if the runs are here")
    made.add_argument("--tries", type=whole, default=4,
                      help="how often a disturbed run is made, at most; 1: it counts")
    made.add_argument("--beside", metavar="BINARY",
                      help="another logjam, run in turn with the first")


def add_running(made):
    add_binaries(made, wal_dir=None)
    made.add_argument("--fresh", action="store_true", help="forget the rows that are there")
    submit.add_arguments(made)


def add_seeds(made):
    made.add_argument("--seeds", type=whole, help="rounds of a simulated run, each of a seed")
    made.add_argument("--jobs", type=whole, help="simulated runs at once; else one a core here")


def add_other_commands(command):
    report = command("report", report_command)
    verdicts, made = command("verdicts", verdicts_command), command("serve", serve_command)
    for reader in (report, verdicts, made):
        reader.add_argument("--results", default=str(ROOT / "results"), help="where the rows are")
    stale = command("stale", stale_command)
    stale.add_argument("ids", nargs="*", metavar="ID", help="else all published results")
    stale.add_argument("--results", default=str(ROOT / "results"), help="where the rows are")
    stale.set_defaults(all=False)
    report.add_argument("--no-pictures", dest="pictures", action="store_false",
                        help="do not draw the PNGs again")
    made.add_argument("--port", type=whole, default=8036, help="on 127.0.0.1; 0: a free one")
    made.add_argument("--no-browser", dest="browser", action="store_false",
                      help="only serve: do not open the browser")
    made = command("compare", compare_command)
    made.add_argument("old", metavar="OLD", help="a directory of results, or the CSV of a sweep")
    made.add_argument("new", metavar="NEW")
    made.add_argument("--full", dest="size", action="store_const", const="full", default="quick")
    made = command("history", history_command)
    made.add_argument("--results", default=str(ROOT / "build" / "history"), help="where the file is")
    add_binaries(made)
    made = command("machines", machines_command)
    made.add_argument("files", nargs="+", metavar="FILE", help="what `make machine` wrote")
    made.add_argument("--out", default=str(ROOT / "build" / "machines.html"), help="the page")
    made = command("sweep", sweep.run, "a grid of your own: scripts/sweep.sh",
                   prog="scripts/sweep.sh", description=SWEEP,
                   formatter_class=argparse.RawDescriptionHelpFormatter,
                   usage="scripts/sweep.sh --out=FILE NAME=VALUE,... [rounds=N] [-- --FLAG=VALUE ...]")
    made.add_argument("axes", nargs="+", metavar="NAME=VALUE,...")
    made.add_argument("--out", required=True, help="the CSV file")
    made.add_argument("--beside_out", metavar="FILE", help="the CSV file of the other binary's rows")
    made.add_argument("--command", dest="command_of_logjam", choices=["run", "micro"], default="run")
    add_running(made)
    made = command("task", task_command)
    made.add_argument("batch", metavar="BATCH", help="its directory")
    made.add_argument("index", metavar="INDEX", type=whole, help="of the job")
    made.add_argument("--wal_dir", metavar="DIR", help="where its logs go, as the plan says it")
    made = command("merge", merge_command)
    made.add_argument("batch", metavar="BATCH", help="its directory")
    made.add_argument("--into", metavar="FILE", help="the CSV, if it is not beside the batch")
    made.add_argument("--forget", metavar="NODE,...", help="first remove these nodes' rows")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, function, words="", **more):
        made = commands.add_parser(name, help=words or function.__doc__, allow_abbrev=False, **more)
        made.set_defaults(function=function, parser=made, paced=False)
        return made

    listed = command("list", list_command)
    form = listed.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--checks", action="store_true",
                      help="the papers' words beside the checks that test them")
    form.add_argument("--markdown", action="store_true",
                      help="the published results as the table of docs/REFERENCES.md")
    form.add_argument("--appendix", action="store_true",
                      help="how to make each file of rows again, as the table of docs/REPRODUCING.md")
    made = command("run", run_command)
    add_ids(made)
    add_pace(made)
    add_running(made)
    made.add_argument("--rounds", type=whole, help="instead of the file's")
    add_seeds(made)
    made.add_argument("--seconds", type=number, help="instead of the file's")
    made.add_argument("--budget", type=number,
                      help="seconds for each result: no round begins that would not end in time")
    made.add_argument("--plot", action="store_true", help="draw the figure afterwards")
    made.add_argument("--check", action="store_true", help="exit with status 1 if a claim fails")
    made.add_argument("--beside_results", metavar="DIR", help="where its rows go")
    made = command("sensitivity", sensitivity_command)
    add_ids(made)
    add_seeds(made)
    made.add_argument("--logjam", help="the simulated binary; else build-sim/logjam")
    made.add_argument("--wal_dir", default=WAL_DIR)
    made.add_argument("--seconds", type=number, help="virtual, instead of the file's")
    made.add_argument("--constants", type=lambda words: words.split(","), default=[],
                      metavar="A,B", help="only these; else all that the machine uses")
    made.add_argument("--draws", type=whole, metavar="N",
                      help="N machines on which all assumed constants are drawn at once")
    made.add_argument("--draw_seed", type=whole, default=1, metavar="SEED", help="of the draws")
    made.add_argument("--screen", action="store_true",
                      help="other seeds only where a check comes out otherwise with the first one")
    add_ids(command("validate", validate_command))
    for name, function in (("plot", plot_command), ("check", check_command)):
        made = command(name, function)
        add_ids(made)
        add_pace(made)
        if name == "plot":
            add_forms(made)
    add_other_commands(command)
    return parser


def take(args, word):
    """Takes a word unknown to argparse: an axis or an id after options. Refuses all other words."""
    listed = next((name for name in ("axes", "ids") if name in args), None)
    if not word.startswith("-") and listed:
        getattr(args, listed).append(word)
    elif args.command == "sweep":
        sweep.refuse_option(word, args.parser.format_help().split())
    else:
        args.parser.error(f"unrecognized arguments: {word}")


def main():
    words, flags = sys.argv[1:], []
    if "--" in words:  # argparse would take the words after `--` for axes
        place = words.index("--")
        words, flags = words[:place], words[place + 1:]
    args, others = arguments().parse_known_args(words)
    for word in others:
        take(args, word)
    if flags and args.command != "sweep":
        raise Refused("only a sweep takes flags of logjam after `--`")
    args.flags = flags
    if "submit" in args:
        submit.check_arguments(args)
        args.wal_dir = args.wal_dir or WAL_DIR
    return args.function(args)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))
    run_main(main, "sweep.sh" if sys.argv[1:2] == ["sweep"] else "",
             "stopped; the same command continues from here")
