"""Rounds that kill a run of logjam and recover its log: what the scripts of this folder share."""

import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "scripts"))

from experiments.errors import parser, program, whole  # noqa: E402
from experiments.runner import schemes_of  # noqa: E402

# A recovery's line on the history: how many transactions committed, and were acknowledged.
JUDGED = re.compile(r"^ok   history: (\d+) transactions (?:that write|reached commit), (\d+) "
                    r"(?:were )?acknowledged", re.MULTILINE)


def options(doc, build="build", **defaults):
    """Returns a parser that shows a script's text, with --logjam and these whole numbers."""
    made = parser(doc)
    made.add_argument("--logjam", type=program, default=os.path.join(ROOT, build, "logjam"))
    for name, default in defaults.items():
        made.add_argument(f"--{name}", type=whole, default=default)
    return made


def draw_records(scheme, draw):
    """Draws a value of --log_records. A logged command has no operations and no ranges."""
    drawn = draw.choice(["txn", "op", "txn,range", "op,range"])
    return "txn" if scheme == "command" else drawn


def combinations(logjam):
    """Lists all combinations of a scheme, the device that it needs ("" if any will do), and a
    protocol. The scheme and the protocol change with each element."""
    schemes = [(name, flags.get("device", "")) for name, flags in schemes_of(logjam).items()]
    listed = subprocess.run([logjam, "list", "protocols"], capture_output=True, text=True,
                            check=True).stdout
    protocols = [line.split()[0] for line in listed.splitlines()[1:] if line.strip()]
    return [(*schemes[at], protocols[(turn + at) % len(protocols)])
            for turn in range(len(protocols)) for at in range(len(schemes))]


def has_begun(history):
    """Returns whether the run has made its history, which it does before its first transaction."""
    try:
        with open(history, "rb") as file:
            return file.read(6) == b"logjam"
    except FileNotFoundError:
        return False


def run_and_kill(command, history, seconds):
    """Runs the command, and kills it (SIGKILL) `seconds` after it has made its history, unless it
    has ended by then. Returns its exit status, -SIGKILL if it was killed, and its output."""
    with tempfile.TemporaryFile("w+") as said:
        run = subprocess.Popen(command, stdout=said, stderr=said)
        patience = time.monotonic() + 60
        while run.poll() is None and not has_begun(history) and time.monotonic() < patience:
            time.sleep(0.005)
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            run.kill()
        run.wait()
        said.seek(0)
        return run.returncode, said.read()


def recover(command):
    """Runs a recovery. Returns its exit status, its output, and the number of transactions that it
    recovered, or None if it does not say."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, check=False)
    found = re.search(r"^recovered +(\d+) transactions", done.stdout, re.MULTILINE)
    return done.returncode, done.stdout, int(found[1]) if found else None
