#!/usr/bin/python3
"""Shows the cost of a durable commit on this machine's disk, compares log schemes, and recovers a
log after kill -9.

Runs the experiments demo-commit and demo-schemes of config/experiments/. Then kills a running
ledger workload with SIGKILL, recovers its log, and verifies the database. Draws the results. The
last lines say which schemes differ, unless other programs used the cores. `make demo` calls this
script. It takes less than two minutes; with --all, for every scheme, some fifteen minutes.
"""

import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parent
sys.path.append(str(SCRIPTS.parent / "proof"))

import rounds  # noqa: E402

from experiments import definition, doubts, files, groups, store  # noqa: E402
from experiments.analysis import Measured  # noqa: E402
from experiments.errors import Refused, number, parser  # noqa: E402

EXPERIMENTS = ("demo-commit", "demo-schemes")


class Failed(Exception):
    """The demo cannot continue. The message is the reason, in one sentence."""


def figures(options, command, *words):
    size = "full" if options.all else "quick"
    done = subprocess.run([SCRIPTS / "figures.py", command, *EXPERIMENTS, f"--{size}",
                           f"--results={options.out}", *words], check=False)
    if done.returncode != 0:
        raise Failed(f"figures.py {command} ended with status {done.returncode}")


def measure(options):
    """Runs both experiments, each with as many rounds as its part of the time allows."""
    for name in EXPERIMENTS:
        files.refuse_link(pathlib.Path(options.out, name))
        for path in pathlib.Path(options.out, name).glob("*.png"):
            path.unlink()
    figures(options, "run", "--fresh", "--tries=1", f"--logjam={options.logjam}",
            f"--wal_dir={options.out}", *([] if options.all else [f"--budget={options.budget}"]))


def measured(options):
    size = "full" if options.all else "quick"
    return [Measured(definition.find(name), store.Store(
        pathlib.Path(options.out, name, f"{size}.csv")).rows) for name in EXPERIMENTS]


def conclusions(found):
    rows = [row for one in found for row in one.rows]
    if doubts.no_comparison(rows):
        return [doubts.no_comparison(rows)]
    of_schemes = found[-1].groups()
    if not of_schemes.enough:
        return [of_schemes.sentence()]
    return groups.in_words(of_schemes, of_schemes.blocks[0], lambda point: dict(point)["log"])


def conclude(options):
    found = measured(options)
    print(flush=True)
    if not doubts.no_comparison([row for one in found for row in one.rows]):
        figures(options, "plot")
    print(*conclusions(found), sep="\n")


def kill_and_recover(options, wal_dir):
    """Kills the ledger workload while it commits. Recovery must prove that no commit is lost."""
    history = wal_dir / "history"
    command = [options.logjam, "run", "--workload=ledger", "--cc=occ", "--log=centr",
               "--commit=pipelined", "--device=file", "--seconds=60", "--warmup=0",
               f"--wal_dir={wal_dir}", "--overwrite", f"--history={history}"]
    print("\nkill -9 while it commits:\n  " + " ".join(command), flush=True)
    wait = 2 + random.random()
    status, output = rounds.run_and_kill(command, history, wait)
    if status != -signal.SIGKILL:
        sys.stderr.write(output)
        raise Failed("the ledger run ended before it could be killed")
    print(f"  killed after {wait:.1f} s")
    command = [options.logjam, "recover", f"--wal_dir={wal_dir}", f"--history={history}",
               "--verify"]
    print("recover and verify:\n  " + " ".join(command), flush=True)
    status, output, recovered = rounds.recover(command)
    print("".join(f"  {line}\n" for line in output.splitlines()), end="")
    if status != 0:
        raise Failed(f"recovery after kill -9 did not prove out (exit {status})")
    if not recovered:
        raise Failed("recovery after kill -9 found no transaction, which proves nothing")
    print(f"verdict: killed with SIGKILL, {recovered:,} transactions recovered, proved: "
          "nothing acknowledged was lost")


def main():
    made = parser(__doc__)
    made.add_argument("--logjam", default="build/logjam", help="the binary")
    made.add_argument("--out", default="build/demo", help="where CSVs and figures go")
    made.add_argument("--all", action="store_true", help="every scheme, as long as it takes")
    made.add_argument("--budget", type=number, default=60,
                      help="seconds for each experiment, if its first round needs no more")
    options = made.parse_args()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    # The log must be on the same disk as the project; /tmp may be on another one.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="log-", dir=out))
    try:
        measure(options)
        kill_and_recover(options, scratch)
        conclude(options)
    except (Failed, Refused) as failed:
        sys.exit(f"demo: {failed}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
