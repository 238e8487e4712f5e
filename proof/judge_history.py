#!/usr/bin/env python3
"""Checks the ledger's histories, of every scheme and protocol, with a public checker.

A round runs the ledger at a small scale until it kills itself (SIGKILL) after some
acknowledgements, or ends by itself. The round then recovers the log and exports a list-append
history, whose last read contains the recovered rows (--export_history). `adya`, an independent
checker with the method of Elle (Kingsbury and Alvaro, VLDB 2020), must find the history strictly
serializable. Here this means: serializable, and nothing acknowledged is lost. With --plant, the
script also plants anomalies in each history, and the checker must find each anomaly. --keep keeps
the histories for other checkers, such as Elle. Protocol si is judged by strong snapshot isolation
instead, ssn by serializability without the order of real time.
"""

import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import rounds
from experiments.errors import Refused, run_main

CHECKER = os.path.join(rounds.ROOT, "build", "judge", "bin", "adya")
KEYS = 100
MODELS = {"si": "strong-snapshot-isolation", "ssn": "serializable"}  # of other protocols: strict
VERDICTS = {0: "valid", 1: "anomalous", 2: "unknown"}


def arguments():
    made = rounds.options(__doc__, rounds=20, seed=random.randrange(10**9))
    made.add_argument("--plant", action="store_true", help="plant anomalies, and expect verdicts")
    made.add_argument("--keep", help="leave the exported histories in this directory")
    given = made.parse_args()
    if given.rounds < 1:
        made.error("--rounds must be at least 1")
    if not os.access(CHECKER, os.X_OK):
        made.error(f"there is no {CHECKER}: scripts/install_deps.sh judge installs it")
    return given


def record(logjam, directory, scheme, device, protocol, seed):
    """Runs one round. Returns whether the run was killed, and the path of the exported history."""
    draw = random.Random(seed)
    crash = draw.random() < 0.75
    history, exported = os.path.join(directory, "history"), os.path.join(directory, f"{seed}.edn")
    log = os.path.join(directory, "log")
    shutil.rmtree(log, ignore_errors=True)
    os.makedirs(log)
    run = [logjam, "run", "--workload=ledger", f"--log={scheme}", f"--cc={protocol}",
           f"--wal_dir={log}", f"--history={history}", "--history_mb=4", f"--seed={seed}",
           f"--commit={draw.choice(['sync', 'pipelined'])}",
           f"--log_records={rounds.draw_records(scheme, draw)}",
           f"--locks={draw.choice(['early', 'write'])}", f"--threads={draw.choice([2, 3, 4])}",
           f"--pipeline_depth={draw.choice([4, 64])}",
           f"--ledger=keys:{KEYS},writes:{draw.choice([1, 2, 4])},reads:{draw.choice([1, 2, 4])},"
           f"theta:{draw.choice([0, 0.9])}",
           "--log_prealloc_mb=1", "--log_buffer_mb=1",
           f"--test=ledger_yield:{draw.choice([0, 7])},"
           f"ledger_die_after:{1 + draw.randrange(300) if crash else 0}",
           "--warmup=0", "--seconds=20", *([] if crash else ["--transactions=1000"]),
           *([f"--device={device}"] if device else [])]
    recover = [logjam, "recover", f"--wal_dir={log}", f"--history={history}", "--threads=1",
               f"--export_history={exported}"]
    ended, said = rounds.run_and_kill(run, history, 120)
    crashed = ended == -signal.SIGKILL  # on a slow machine the run may end before it kills itself
    if ended != 0 and not (crash and crashed):
        raise Refused(f"{' '.join(run)}\nexited {ended}: {said}")
    status, said, _ = rounds.recover(recover)
    if status != 0:
        print(f"{' '.join(run)}\n{' '.join(recover)}\nexited {status}: {said}", flush=True)
    if not os.path.exists(exported):
        raise Refused(f"{' '.join(recover)}\nexported nothing: {said}")
    return crashed, exported


def judge(path, protocol):
    """Returns the checker's verdict on a history, and the names of the anomalies that it found."""
    model = MODELS.get(protocol, "strict-serializable")
    done = subprocess.run([CHECKER, "check", "--json", "-m", "list-append", "-c", model, path],
                          capture_output=True, text=True, timeout=120)
    verdict = VERDICTS.get(done.returncode)
    if verdict is None:
        raise Refused(f"adya check {path} exited {done.returncode}: {done.stdout}{done.stderr}")
    return verdict, json.loads(done.stdout)["anomaly_types"]


class Exported:
    """An exported history in which anomalies can be planted. A transaction is the list of its
    operations: ["r", key, list or None] or ["append", key, value]."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        self.first_end = len(self.lines) // 2 - 1  # index after all invocations but the last read's
        self.transactions = [self.parse(self.lines[at])
                             for at in range(self.first_end, len(self.lines) - 2)]
        self.recovered = self.parse(self.lines[-1])

    @staticmethod
    def parse(line):
        text = line[line.index(":value ") + len(":value "):-1].replace("][", "] [")
        text = text.replace(" ", ",").replace("nil", "null")
        return json.loads(re.sub(r":(\w+)", r'"\1"', text))

    def ok(self, number):
        return ":type :ok" in self.lines[self.first_end + number]

    @staticmethod
    def unparse(line, operations):
        text = json.dumps(operations).replace("null", "nil").replace(",", "")
        text = re.sub(r'"(\w+)"', r":\1", text)
        return line[:line.index(":value ")] + f":value {text}}}"

    def reads(self):
        """Yields (transaction, index, operation) of each read that ended and found a value."""
        for n, operations in enumerate(self.transactions):
            for i, operation in enumerate(operations if self.ok(n) else ()):
                if operation[0] == "r" and operation[2]:
                    yield n, i, operation

    def last_writers(self):
        """Yields (index in the last read, last writer) of each key with a known writer."""
        for i, (_, _, value) in enumerate(self.recovered):
            if value and value[-1] < len(self.transactions):
                yield i, value[-1]

    def write(self, path, changes, last, types):
        """Writes the changed history to `path`. `changes` maps transactions to new operations, and
        `types` to new types. `last` has the new operations of the last read."""
        lines = list(self.lines)
        for number, operations in changes.items():
            at = self.first_end + number
            lines[at] = self.unparse(lines[at], operations)
        for number, kind in types.items():
            at = self.first_end + number
            lines[at] = re.sub(":type :[a-z]+", f":type :{kind}", lines[at])
        if last is not None:
            lines[-1] = self.unparse(lines[-1], last)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


# Each planter yields all ways to plant its anomaly in a history, as the arguments of write().

def swap_two_elements(history):
    """Makes one transaction read two writes of a key in reverse order."""
    for n, i, (what, key, value) in history.reads():
        for at in range(len(value) - 1):
            seen = value[:at] + [value[at + 1], value[at]] + value[at + 2:]
            yield {n: replaced(history.transactions[n], i, [what, key, seen])}, None, {}


def drop_acknowledged_append(history):
    """Removes the last write of a key from the recovered database."""
    for i, (what, key, value) in enumerate(history.recovered):
        if value:
            yield {}, replaced(history.recovered, i, [what, key, value[:-1]]), {}


def circular_information_flow(history):
    """Makes each of two transactions read a write of the other transaction (G1c)."""
    lists = {key: value for _, key, value in history.recovered}
    for later, _, (_, _, value) in history.reads():
        earlier = value[-1]
        if earlier == later or earlier >= len(history.transactions):
            continue
        touched = {key for _, key, _ in history.transactions[earlier]}
        for what, key, _ in history.transactions[later]:
            if what == "append" and key not in touched and later in lists[key]:
                seen = lists[key][:lists[key].index(later) + 1]
                yield {earlier: [*history.transactions[earlier], ["r", key, seen]]}, None, {}


def lose_update(history):
    """Makes two transactions read the same version of a key and overwrite it."""
    for n, i, (what, key, value) in history.reads():
        operations = history.transactions[n]
        if (i + 2 < len(operations) and operations[i + 1] == ["append", key, n] and
                sum(k == key for _, k, _ in operations) == 3):
            changed = replaced(operations, i, [what, key, value[:-1]])
            yield {n: changed[:i + 2] + changed[i + 3:]}, None, {}


def read_aborted(history):
    """Marks a transaction as failed although another transaction read its write (G1a)."""
    for _, writer in history.last_writers():
        yield {}, None, {writer: "fail"}


def tear(history):
    """Removes one write of a transaction with several writes from the recovered database."""
    for i, writer in history.last_writers():
        if sum(what == "append" for what, _, _ in history.transactions[writer]) >= 2:
            what, key, value = history.recovered[i]
            yield {}, replaced(history.recovered, i, [what, key, value[:-1]]), {}


PLANTERS = [swap_two_elements, drop_acknowledged_append, circular_information_flow, lose_update,
            read_aborted, tear]


def replaced(operations, at, operation):
    return [*operations[:at], operation, *operations[at + 1:]]


def plant_all(exported, protocol, seed, keep, planted):
    """Plants each anomaly in turn, and counts the checker's verdicts in `planted`."""
    history = Exported(exported)
    for planter in PLANTERS:
        path, ways = exported.replace(".edn", f".{planter.__name__}.edn"), list(planter(history))
        if not ways:
            planted[planter.__name__]["no place for it"] += 1
            continue
        history.write(path, *random.Random(seed).choice(ways))
        verdict, anomalies = judge(path, protocol)
        planted[planter.__name__][verdict] += 1
        planted[planter.__name__].update(f"as {name}" for name in anomalies)
        if verdict != "anomalous":
            print(f"NOT FOUND: {planter.__name__} planted in seed {seed}: {verdict}", flush=True)
        if not keep:
            os.remove(path)


def main():
    given = arguments()
    combinations = rounds.combinations(given.logjam)
    directory = given.keep or tempfile.mkdtemp(prefix="logjam-judge-")
    os.makedirs(directory, exist_ok=True)
    print(f"{given.rounds} rounds from seed {given.seed}, {len(combinations)} pairs of scheme and "
          "protocol")
    verdicts, planted = collections.Counter(), collections.defaultdict(collections.Counter)
    pairs, transactions, crashed, longest, bad = set(), 0, 0, 0.0, 0
    for number in range(given.rounds):
        scheme, device, protocol = combinations[number % len(combinations)]
        seed = given.seed + number
        crash, exported = record(given.logjam, directory, scheme, device, protocol, seed)
        start = time.monotonic()
        verdict, anomalies = judge(exported, protocol)
        longest = max(longest, time.monotonic() - start)
        crashed += crash
        pairs.add((scheme, protocol))
        with open(exported, encoding="utf-8") as file:
            transactions += sum(":type :ok" in line for line in file)
        verdicts[verdict] += 1
        if verdict != "valid":
            print(f"{verdict}: seed {seed}, {scheme}, {protocol}: {anomalies}", flush=True)
        if given.plant:
            plant_all(exported, protocol, seed, given.keep, planted)
        if not given.keep and verdict == "valid":
            os.remove(exported)
        bad += verdict != "valid"
    print(f"{', '.join(f'{count} {verdict}' for verdict, count in verdicts.items())}; {crashed} "
          f"crashed, {len(pairs)} pairs of scheme and protocol, {transactions} transactions that "
          f"ended, longest check {longest:.2f} s")
    for name, counts in planted.items():
        print(f"planted {name}: {', '.join(f'{count} {what}' for what, count in counts.items())}")
        bad += sum(counts[verdict] for verdict in ("valid", "unknown"))
    if not given.keep and not bad:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    run_main(main)
