#!/usr/bin/python3
"""The demo: what a durable commit costs on this machine's disk, every log scheme beside each other,
and recovery after a kill -9.

Runs the experiments demo-commit and demo-schemes of config/experiments/, and draws them. Then kills
a running ledger workload with SIGKILL, recovers its log, and verifies the database. `make demo`
calls this script, which takes less than two minutes.
"""

import argparse
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

FIGURES = pathlib.Path(__file__).resolve().parent / "figures.py"


class Failed(Exception):
    """The demo cannot continue; the message is the reason, in one sentence."""


def measure(options):
    """Runs and draws both experiments, each in as many rounds as its part of the time allows."""
    done = subprocess.run(
        [FIGURES, "run", "demo-commit", "demo-schemes", "--fresh", "--plot", "--tries=1",
         f"--logjam={options.logjam}", f"--results={options.out}", f"--wal_dir={options.out}",
         f"--budget={options.budget}"], check=False)
    if done.returncode != 0:
        raise Failed(f"the experiments ended with status {done.returncode}")


def kill_and_recover(options, wal_dir):
    """Kills the ledger workload while it commits. Recovery must prove that nothing is lost."""
    history = wal_dir / "history"
    command = [options.logjam, "run", "--workload=ledger", "--cc=occ", "--log=centr",
               "--commit=pipelined", "--device=file", "--seconds=60", "--warmup=0",
               f"--wal_dir={wal_dir}", "--overwrite", f"--history={history}"]
    print("\nkill -9 while it commits:\n  " + " ".join(command), flush=True)
    output = wal_dir / "output"
    with open(output, "w", encoding="utf-8") as out:
        with subprocess.Popen(command, stdout=out, stderr=out) as ledger:
            try:
                wait = 2 + random.random()
                ledger.wait(timeout=wait)
                sys.stderr.write(output.read_text(encoding="utf-8"))
                raise Failed("the ledger run ended before it could be killed")
            except subprocess.TimeoutExpired:
                pass
            finally:
                ledger.send_signal(signal.SIGKILL)
    print(f"  killed after {wait:.1f} s")
    command = [options.logjam, "recover", f"--wal_dir={wal_dir}", f"--history={history}",
               "--verify"]
    print("recover and verify:\n  " + " ".join(command), flush=True)
    recovered = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
    print("".join(f"  {line}\n" for line in recovered.stdout.splitlines()), end="")
    if recovered.returncode != 0:
        raise Failed(f"recovery after kill -9 did not prove out (exit {recovered.returncode})")
    count = re.search(r"^recovered +(\d+) transactions", recovered.stdout, re.MULTILINE)
    if count is None or int(count.group(1)) == 0:
        raise Failed("recovery after kill -9 found no transaction, which proves nothing")
    print(f"verdict: killed with SIGKILL, {int(count.group(1)):,} transactions recovered, proved: "
          "nothing acknowledged was lost")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logjam", default="build/logjam", help="the binary")
    parser.add_argument("--out", default="build/demo", help="where CSVs and figures go")
    parser.add_argument("--budget", type=float, default=45,
                        help="seconds for each experiment, if its first round needs no more")
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    # The log must be on the same disk as the project; /tmp may be on another one.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="log-", dir=out))
    try:
        measure(options)
        kill_and_recover(options, scratch)
    except Failed as failed:
        sys.exit(f"demo: {failed}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
