"""Runs logjam, kills the run and recovers its log: functions for this folder's scripts."""

import json
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

# Recovery's line about the history: the numbers of committed and of acknowledged transactions.
JUDGED = re.compile(r"^ok   history: (\d+) transactions (?:that write|reached commit), (\d+) "
                    r"(?:were )?acknowledged", re.MULTILINE)


def options(doc, build="build", **defaults):
    """Returns a parser with a script's help text, --logjam and these options with whole numbers."""
    made = parser(doc)
    made.add_argument("--logjam", type=program, default=os.path.join(ROOT, build, "logjam"))
    for name, default in defaults.items():
        made.add_argument(f"--{name}", type=whole, default=default)
    return made


def draw_records(scheme, draw):
    """Chooses a value of --log_records. The scheme `command` can only log whole transactions."""
    drawn = draw.choice(["txn", "op", "txn,range", "op,range"])
    return "txn" if scheme == "command" else drawn


def combinations(logjam):
    """Lists all combinations of a scheme, the device that it needs or "", and a protocol, without
    those that logjam refuses. Scheme and protocol differ between consecutive combinations."""
    schemes = [(name, flags.get("device", "")) for name, flags in schemes_of(logjam).items()]
    listed = subprocess.run([logjam, "list", "protocols", "--json"], capture_output=True, text=True,
                            check=True).stdout
    protocols = json.loads(listed)["protocols"]
    pairs = [(scheme, protocols[(turn + at) % len(protocols)])
             for turn in range(len(protocols)) for at, scheme in enumerate(schemes)]
    return [(*scheme, protocol["name"]) for scheme, protocol in pairs
            if protocol["serial_in_commit_order"] or scheme[0] != "command"]


def has_begun(history):
    """Returns whether the run has made its history file, which precedes its first transaction."""
    try:
        with open(history, "rb") as file:
            return file.read(6) == b"logjam"
    except FileNotFoundError:
        return False


def run_and_kill(command, history, seconds):
    """Starts the command, waits for its history file, and kills the command (SIGKILL) `seconds`
    later, unless it has ended. Returns the exit status (-SIGKILL if killed) and the output."""
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
    """Returns a recovery's exit status, output, and number of transactions (None if missing)."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600, check=False)
    found = re.search(r"^recovered +(\d+) transactions", done.stdout, re.MULTILINE)
    return done.returncode, done.stdout, int(found[1]) if found else None
