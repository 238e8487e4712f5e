#!/usr/bin/python3
"""Compares durable commits of database products with logjam's schemes of the same algorithms, and
with the disk's bound.

Each product runs as its users run it, on the same disk in the same minutes, in interleaved rounds.
scripts/products.sh installs missing products, builds the clients of embedded products, and calls
this script. Exit status: 0, 1 if a product was left out, 2 for bad input, 130 after Ctrl-C.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from experiments import definition, files, runner, store, text_tables
from experiments.files import alone
from experiments.analysis import Measured
from experiments.errors import Refused, number, whole
from products import comparison
from products.processes import UNPRIVILEGED, Failed, as_user

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAD_INPUT = 2
MOST_CLIENTS = 128  # servers allow 200 connections
SOCKET_BYTES = 107 - len("/products-1234567-12345678/postgres/.s.PGSQL.5432")


def clients_of(text):
    clients = [whole(word) for word in text.split(",")]
    if not all(1 <= n <= MOST_CLIENTS for n in clients) or len(set(clients)) < len(clients):
        raise ValueError
    return sorted(clients)


def refuse(message):
    """Raises Refused. (argparse would print the usage and end the process.)"""
    raise Refused(message)


def arguments(words):
    parser = argparse.ArgumentParser(prog="scripts/products.sh", exit_on_error=False,
                                     description=__doc__.splitlines()[0])
    parser.error = refuse
    parser.add_argument("products", nargs="*", metavar="PRODUCT",
                        help=f"of {', '.join(comparison.NAMES)} (default: all)")
    parser.add_argument("--clients", default="1,2,16,64", help="numbers of clients")
    parser.add_argument("--rounds", type=whole, default=3)
    parser.add_argument("--seconds", type=number, default=2, help="of each run")
    parser.add_argument("--dir", default=str(ROOT / "build"),
                        help="a directory of the disk to measure")
    parser.add_argument("--logjam", help="the binary; else $LOGJAM, or build/logjam")
    parser.add_argument("--csv", default=str(ROOT / "build/results/products/full.csv"),
                        help="the rows, written anew; a figure goes beside them")
    parser.add_argument("--packages", action="store_true",
                        help="only print each product and its packages")
    args = parser.parse_args(words)
    unknown = [name for name in args.products if name not in comparison.NAMES]
    if unknown:
        raise Refused(f"there is no product {unknown[0]}; there are {', '.join(comparison.NAMES)}")
    try:
        args.clients = clients_of(args.clients)
    except (argparse.ArgumentTypeError, ValueError):
        raise Refused(f"--clients={args.clients} is no list of different numbers from 1 to "
                      f"{MOST_CLIENTS}") from None
    if args.rounds < 1:
        raise Refused(f"--rounds={args.rounds} must be at least 1")
    if not 0.1 <= args.seconds <= 3600:
        raise Refused(f"--seconds={args.seconds:g} must be from 0.1 to 3600")
    args.products = list(dict.fromkeys(args.products)) or list(comparison.NAMES)
    return args


def own_directory(folder):
    """Makes a directory for the unprivileged user. Removes the directories of killed calls."""
    folder = pathlib.Path(folder).absolute()
    if len(os.fsencode(folder)) > SOCKET_BYTES:
        raise Refused(f"--dir={folder} is longer than {SOCKET_BYTES} characters, too long for a "
                      "unix socket in it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("products-*-*"):
            pid = left.name.split("-")[1]
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                shutil.rmtree(left, ignore_errors=True)
        made = tempfile.mkdtemp(prefix=f"products-{os.getpid()}-", dir=folder)
    except OSError as error:
        raise Refused(f"--dir={folder} cannot be used: {error.strerror}") from error
    os.chmod(made, 0o755)
    if subprocess.run(as_user(["test", "-x", made]), check=False).returncode != 0:
        shutil.rmtree(made)
        raise Refused(f"--dir={folder} is in a directory that the user {UNPRIVILEGED}, as whom "
                      "products run, may not enter")
    return made


def stop(number, _):
    """Raises an exception that stops all servers, removes all files and ends the process."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # a second Ctrl-C would leave servers and files
    raise SystemExit(128 + number)


def run(args):
    experiment = definition.find("products")
    logjam = runner.logjam_of(args.logjam)
    path = pathlib.Path(args.csv)
    with alone(path, "another --csv"):
        store.Store(path)  # refuses a file with other content
        files.is_there(path.with_suffix(".png"))
        made = own_directory(args.dir)
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, stop)
        try:
            with comparison.Comparison(made, args.products, args.clients, logjam,
                                       experiment) as sides:
                sides.start()
                sides.measure(args.rounds, args.seconds, path)
        except (Failed, OSError) as why:
            raise Refused(f"the comparison ended: {why}") from why
        finally:
            shutil.rmtree(made, ignore_errors=True)
        if sides.rows:
            report(experiment, sides.rows, path)
        return 0 if sides.well else 1


def report(experiment, rows, path):
    from experiments import plots  # matplotlib takes a second to load
    say, measured = text_tables.say, Measured(experiment, rows)
    text_tables.print_lines(*comparison.table(experiment, rows))
    say(f"\n{comparison.SAYS}")
    for line in comparison.sentences(rows):
        say(line)
    for check, verdict in measured.checks():
        say(f"{verdict}: {check['says']}")
    picture = path.with_suffix(".png")
    plots.draw(experiment, measured, picture, {})
    say(f"\n{len(rows)} rows in {path}, drawn in {picture}")


def main(words):
    try:
        args = arguments(words)
        if args.packages:
            runner.logjam_of(args.logjam)
            for name in args.products:
                side = comparison.PRODUCTS.get(name)
                print(name, *(side.packages if side else ()))
            return 0
        return run(args)
    except (Refused, argparse.ArgumentError) as refused:
        print(f"products: {refused}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
