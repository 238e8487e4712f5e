"""Counts the syncs and the written bytes per commit of a product, with strace, in a separate run.

A call syncs if it is fsync, fdatasync, msync(MS_SYNC), a write to a descriptor with O_DSYNC or
O_SYNC, or a write with the flag RWF_DSYNC. Only files below the product's directory count.
"""

import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from products.processes import Failed, Missing, last_words, program

SYNCS = {"fsync", "fdatasync"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
TRACED = ",".join(sorted({"openat", "access", "msync", *SYNCS, *WRITES}))
BEGIN, END = "measured-begins", "measured-ends"  # embedded clients call access() with these names
CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>")
DESCRIPTOR = re.compile(r"^(\d+)<([^>]*)>")
OPENED = re.compile(r"= (\d+)<([^>]*)>$")
RESULT = re.compile(r"= (-?\d+)")
OFTEN = 0.1  # share of all syncs; the table's sentence omits rarer kinds
ATTACH_SECONDS, ATTEMPTS = 10, 3


class Counts:
    """Counts syncs by call and file, and bytes by file, in the lines of a trace."""

    def __init__(self, folder, synced=()):
        self.folder = str(folder)
        self.synced = set(synced)  # the (descriptor, path) pairs whose writes sync
        self.clear()

    def clear(self):
        self.syncs, self.bytes = collections.Counter(), collections.Counter()
        self._unfinished, self._ended = {}, False  # maps (thread, call) to the written file

    def add(self, line):
        """Counts a line of the trace. A call on two lines counts at the first of these lines. The
        bytes of the call count at the second line."""
        resumed, call = RESUMED.match(line), CALL.match(line)
        file = self._unfinished.pop((resumed[1], resumed[2]), None) if resumed else None
        if file:
            self._written(file, line)
        if not call or self._ended:
            return
        thread, name, rest = call.groups()
        if name == "access":
            self._mark(rest)
        elif name == "openat":
            self._opened(rest)
        elif name == "msync":
            self.syncs["msync", "a map"] += "MS_SYNC" in rest
        else:
            self._of_file(thread, name, rest)

    def _mark(self, rest):
        if BEGIN in rest:
            self.clear()
        self._ended = self._ended or END in rest

    def _opened(self, rest):
        opened = OPENED.search(rest)
        if opened:
            change = self.synced.add if re.search(r"O_D?SYNC", rest) else self.synced.discard
            change((int(opened[1]), opened[2]))

    def _of_file(self, thread, name, rest):
        descriptor = DESCRIPTOR.match(rest)
        if not descriptor or not descriptor[2].startswith(self.folder):
            return
        at = (int(descriptor[1]), descriptor[2])
        file = plain_name(os.path.relpath(descriptor[2], self.folder))
        if name in SYNCS:
            self.syncs[name, file] += 1
        elif at in self.synced or re.search(r"RWF_D?SYNC", rest):
            self.syncs[f"synced {name}", file] += 1
        if name in WRITES and "<unfinished" in rest:
            self._unfinished[thread, name] = file
        elif name in WRITES:
            self._written(file, rest)

    def _written(self, file, line):
        result = RESULT.findall(line)
        self.bytes[file] += max(0, int(result[-1])) if result and not self._ended else 0


def plain_name(path):
    """Returns a file's name with a star instead of its number: pg_wal/*, log.*."""
    folder, name = os.path.split(path.removeprefix("data/"))
    return os.path.join(folder, re.sub(r"[0-9A-F]*\d{4}[0-9A-F]*", "*", name))


def per_commit(counts, commits):
    """Returns columns per commit: syncs, kinds of syncs, written bytes, bytes of synced files."""
    commits, total = max(1, commits), sum(counts.syncs.values())
    often = sorted((kind for kind, count in counts.syncs.items() if count > OFTEN * total),
                   key=lambda kind: (-round(counts.syncs[kind] / commits, 1), kind))
    said = [f"{counts.syncs[how, file] / commits:.2f} {how} of {file}" for how, file in often]
    files = {file for _, file in often}
    return {"syncs_commit": total / commits, "sync_kind": " and ".join(said) or "no sync",
            "bytes_commit": sum(counts.bytes.values()) / commits,
            "synced_bytes_commit": sum(counts.bytes[file] for file in files) / commits}


def synced_descriptors(pids):
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for one in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
                with contextlib.suppress(OSError):
                    flags = int(re.search(r"flags:\s*(\d+)", one.read_text())[1], 8)
                    if flags & os.O_DSYNC:
                        found.add((int(one.name), os.readlink(f"/proc/{pid}/fd/{one.name}")))
    return found


def _tracer_of(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 1  # the process has ended, so no trace is needed
    return int(re.search(r"TracerPid:\s*(\d+)", status)[1])


def _has_attached(tracer, pids):
    """Waits until the tracer is attached to all processes. Returns whether it is attached."""
    end = time.monotonic() + ATTACH_SECONDS
    while tracer.poll() is None and time.monotonic() < end:
        if all(_tracer_of(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


@contextlib.contextmanager
def attached(command, pids_of):
    """Traces the processes of pids_of() during the block. Retries if a process ends."""
    for _ in range(ATTEMPTS):
        pids = pids_of()
        with subprocess.Popen([*command, *(f"-p{pid}" for pid in pids)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as tracer:
            try:
                if _has_attached(tracer, pids):
                    yield
                    return
            finally:
                tracer.send_signal(signal.SIGINT)
                tracer.wait()
            said = tracer.stderr.read()
        time.sleep(0.5)
    raise Failed(f"strace cannot attach to it: {last_words(said)}")


def traced(side, clients, seconds):
    try:
        strace = program("strace", "strace")
    except Missing as missing:
        raise Failed(str(missing)) from missing
    with tempfile.NamedTemporaryFile(dir=side.folder.parent, suffix=".strace") as file:
        command = [strace, "-f", "-qq", "-y", "-s", "0", "-e", f"trace={TRACED}", "-e",
                   "signal=none", "-o", file.name]
        pids = side.pids()
        counts = Counts(side.folder, synced_descriptors(pids))
        if pids:
            with attached(command, side.pids):
                got = side.run(clients, seconds, True)
        else:
            got = side.run(clients, seconds, True, [*command, "--seccomp-bpf"])
        with open(file.name, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                counts.add(line.rstrip("\n"))
    return per_commit(counts, got["commits"])
