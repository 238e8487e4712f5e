"""What all sides of the comparison have, those that run in their client's process, and logjam.

A side has start(), run(clients, seconds, durable, tracer) and stop(), and says which load it runs,
and in which version. run() returns what outputs.measured() does. servers.py has the servers.
"""

import json
import os
import pathlib
import shutil

from experiments import definition
from products import outputs
from products.processes import UNPRIVILEGED, Missing, as_user, output_of, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "products"


class Side:
    """A product. `packages` are Debian's; `groups`: a sync may be that of several commits."""

    name = load = ""
    packages = ()
    groups = True

    def __init__(self, folder, branches):
        self.branches = branches
        self.folder = pathlib.Path(folder, self.name)
        self.folder.mkdir()
        give(self.folder)

    def version(self):
        return output_of(["dpkg-query", "-W", "-f", "${Version}", self.packages[0]]).strip()

    def start(self):
        """Makes the database. Raises Missing if the product is not installed."""

    def stop(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def pids(self):
        """Returns the processes that commit, if run() does not start them."""
        return []


def give(folder):
    if os.geteuid() == 0:
        shutil.chown(folder, UNPRIVILEGED)


class RocksDb(Side):
    name, packages = "rocksdb", ("rocksdb-tools",)
    load = "db_bench fillrandom --sync=1, a key of 16 B and a value of 100 B"

    def start(self):
        self.db_bench = program("db_bench", self.packages[0])

    def run(self, clients, seconds, durable, tracer=()):
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        return outputs.db_bench(output_of([*tracer, *as_user([
            self.db_bench, "--benchmarks=fillrandom", f"--db={data}", f"--threads={clients}",
            f"--duration={max(1, round(seconds))}", "--ops_between_duration_checks=1",
            "--num=100000000", f"--sync={int(durable)}", "--key_size=16", "--value_size=100",
            "--histogram=1", "--progress_reports=false", "--compression_type=none"])], seconds))


class Embedded(Side):
    """A library that executes TPC-B in the client's process (scripts/products/embedded.cc)."""

    load = "TPC-B in the client's process"

    def start(self):
        built = BUILT / self.name
        if not built.exists():
            raise Missing("its client is not built, because the package "
                          f"{self.packages[0]} is not installed")
        # The user may not enter the folder in which it was built.
        self.program = shutil.copy2(built, self.folder / self.name)

    def run(self, clients, seconds, durable, tracer=()):
        data = self.folder / "data"
        data.mkdir()
        give(data)
        try:
            return outputs.embedded(output_of([*tracer, *as_user([
                self.program, data, clients, seconds, self.branches, int(durable)])], seconds))
        finally:
            shutil.rmtree(data, ignore_errors=True)


class WiredTiger(Embedded):
    """WiredTiger under snapshot isolation; a conflict is tried again."""

    name, packages = "wiredtiger", ("libwiredtiger-dev",)
    load = f"{Embedded.load}, transaction_sync=(enabled,method=fsync)"


class BerkeleyDb(Embedded):
    """Berkeley DB, a transactional store."""

    name, packages = "berkeleydb", ("libdb5.3-dev",)
    load = f"{Embedded.load}, DB_TXN_SYNC"


class Sqlite(Embedded):
    """SQLite: one writer at a time."""

    name, packages, groups = "sqlite", ("libsqlite3-dev",), False
    load = f"{Embedded.load}, in WAL mode with synchronous=FULL"


class Lmdb(Embedded):
    """LMDB: one writer at a time, and no log."""

    name, packages, groups = "lmdb", ("liblmdb-dev",), False
    load = Embedded.load


class Scheme(Side):
    """logjam with the scheme of a product's algorithm: `flags` are those of the experiment."""

    def __init__(self, folder, branches, logjam, product, flags):
        self.name = f"logjam-{product}"
        super().__init__(folder, branches)
        self.logjam = logjam
        self.flags = {name: branches if name == "tpcb_branches" else definition.text(value)
                      for name, value in flags.items()}
        self.load = "logjam run --commit=sync " + " ".join(
            f"--{name}={self.flags[name]}" for name in ("log", "workload", "cc"))

    def version(self):
        return output_of([self.logjam, "--version"]).split()[-1]

    def run(self, clients, seconds, durable=True, tracer=()):
        row = self.folder / "row.json"
        flags = {**self.flags, "threads": clients, "seconds": seconds, "warmup": seconds / 4,
                 "wal_dir": self.folder / "log", "overwrite": "true", "json": row}
        words = [f"--{name}={value}" for name, value in flags.items()]
        output_of([*tracer, self.logjam, "run", *words], seconds)
        with outputs.reading("logjam run"):
            got = json.loads(row.read_text(encoding="utf-8").splitlines()[-1])
        row.unlink()
        return {**outputs.scheme(got), "log": got["log"]}


class Device(Side):
    """The disk alone, as logjam's device writes to it."""

    name = "device"
    load = "logjam device: durable writes of 4 KiB, one after the other"

    def __init__(self, folder, branches, logjam):
        super().__init__(folder, branches)
        self.logjam = logjam

    def measure(self, seconds):
        """Returns the row of the device's bound, in this time for each point."""
        rows = self.folder / "rows.json"
        output_of([self.logjam, "device", f"--wal_dir={self.folder}", f"--seconds={seconds}",
                   f"--json={rows}"], 100 * seconds)
        lines = rows.read_text(encoding="utf-8").splitlines()
        rows.unlink()
        return outputs.device(lines)
