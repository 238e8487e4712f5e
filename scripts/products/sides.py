"""The sides of the comparison: servers, which use only a unix socket, libraries, and logjam.

A side has start(), run(clients, seconds, durable, tracer) and stop(), and names its load and its
version. run() returns the numbers that outputs.py describes.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from experiments import definition, runner
from products import outputs
from products.processes import (UNPRIVILEGED, Failed, Missing, as_user, environment, last_words,
                                output_of, program)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "products"
READY_SECONDS = 90
CONNECTIONS = 200  # the limit of a server


class Side:
    """A product from the Debian packages `packages`. If `groups`, a sync may cover several
    commits."""

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
        """Returns the processes that commit, or none if run() starts them."""
        return []


def give(folder):
    if os.geteuid() == 0:
        shutil.chown(folder, UNPRIVILEGED)


class Server(Side):
    """A product with a server process, which the signal `quits` stops."""

    process = None
    quits = signal.SIGTERM

    def launch(self, command, ready):
        with open(self.folder / "server.log", "wb") as log:
            self.process = subprocess.Popen(as_user(command), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment(), start_new_session=True)
        end = time.monotonic() + READY_SECONDS
        while subprocess.run(ready, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=environment(), check=False,
                             timeout=READY_SECONDS).returncode != 0:
            if time.monotonic() > end or self.process.poll() is not None:
                said = (self.folder / "server.log").read_text(errors="replace")
                raise Failed(f"its server does not start: {last_words(said)}")
            time.sleep(0.1)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.quits)
            try:
                self.process.wait(READY_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        super().stop()

    def pids(self):
        found = [self.process.pid]
        for pid in found:
            with contextlib.suppress(OSError):  # the process may be ending
                for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                    found += [int(child) for child in children.read_text().split()]
        return found


class Postgres(Server):
    name, packages = "postgres", ("postgresql-15",)
    load = "pgbench -M prepared, TPC-B"
    quits = signal.SIGQUIT  # an immediate shutdown: the files are removed anyway

    def start(self):
        initdb, postgres, ready, self.pgbench = (
            program(name, self.packages[0], "/usr/lib/postgresql/15/bin")
            for name in ("initdb", "postgres", "pg_isready", "pgbench"))
        data = self.folder / "data"
        output_of(as_user([initdb, "-D", data, "-A", "trust", "-U", "bench", "--no-sync"]))
        self.at = ["-h", self.folder, "-U", "bench", "postgres"]
        self.launch([postgres, "-D", data, "-k", self.folder, "-c", "listen_addresses=", "-c",
                     f"max_connections={CONNECTIONS}"], [ready, "-h", self.folder, "-q"])
        output_of([self.pgbench, "-i", "-q", "-s", self.branches, *self.at])

    def run(self, clients, seconds, durable, tracer=()):
        commits = "on" if durable else "off"
        with tempfile.TemporaryDirectory(dir=self.folder) as logs:
            give(logs)
            bench = as_user([self.pgbench, "-M", "prepared", "-n", "-l", "-c", clients, "-j",
                             min(2, clients), "-T", max(1, round(seconds)), *self.at])
            text = output_of(bench, seconds, cwd=logs,
                             env=environment(PGOPTIONS=f"-c synchronous_commit={commits}"))
            lines = [line for path in pathlib.Path(logs).iterdir()
                     for line in path.read_text().splitlines()]
        return outputs.pgbench(text, lines)


class MariaDb(Server):
    name, packages = "mariadb", ("mariadb-server", "mariadb-client", "sysbench")
    load = "sysbench oltp_update_index, innodb_flush_log_at_trx_commit=1, binlog off"
    binlog = ("--skip-log-bin",)
    syncs = "SET GLOBAL innodb_flush_log_at_trx_commit={0}"

    def start(self):
        server, client, sysbench = self.packages
        install = program("mariadb-install-db", server)
        mariadbd = program("mariadbd", server, "/usr/sbin")
        self.sysbench = program("sysbench", sysbench)
        data, socket = self.folder / "data", self.folder / "socket"
        output_of(as_user([install, "--no-defaults", f"--datadir={data}", "--skip-test-db",
                           "--auth-root-authentication-method=normal"]))
        self.sql = [program("mariadb", client), "--no-defaults", f"--socket={socket}", "-u", "root",
                    "-e"]
        self.launch([mariadbd, "--no-defaults", f"--datadir={data}", f"--socket={socket}",
                     f"--pid-file={self.folder}/pid", "--skip-networking",
                     f"--max-connections={CONNECTIONS}", "--innodb-flush-log-at-trx-commit=1",
                     *self.binlog], [*self.sql, "SELECT 1"])
        output_of([*self.sql, "CREATE DATABASE bench"])
        self.bench = [self.sysbench, "oltp_update_index", f"--mysql-socket={socket}",
                      "--mysql-user=root", "--mysql-db=bench", "--tables=1", "--table-size=100000",
                      "--db-driver=mysql"]
        output_of([*self.bench, "prepare"])

    def run(self, clients, seconds, durable, tracer=()):
        output_of([*self.sql, self.syncs.format(int(durable))])
        return outputs.sysbench(output_of(
            [*self.bench, f"--threads={clients}", f"--time={max(1, round(seconds))}", "--events=0",
             "--histogram", "--percentile=99", "run"], seconds))


class MariaDbBinlog(MariaDb):
    """MariaDB that also writes the binary log for its replicas."""

    name = "mariadb-binlog"
    load = "sysbench oltp_update_index, innodb_flush_log_at_trx_commit=1, binlog on, sync_binlog=1"
    binlog = ("--log-bin=mariadb-bin", "--sync-binlog=1", "--server-id=1")
    syncs = MariaDb.syncs + "; SET GLOBAL sync_binlog={0}"


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
    """A library that executes TPC-B in the client's process (scripts/products/embedded.h)."""

    load = "TPC-B in the client's process"

    def start(self):
        built = BUILT / self.name
        if not built.exists():
            raise Missing("its client is not built, because the package "
                          f"{self.packages[0]} is not installed")
        # The unprivileged user may not be allowed to enter the build's folder.
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
    """WiredTiger with snapshot isolation. The client retries after a conflict."""

    name, packages = "wiredtiger", ("libwiredtiger-dev",)
    load = f"{Embedded.load}, transaction_sync=(enabled,method=fsync)"


class BerkeleyDb(Embedded):
    """Berkeley DB with transactions."""

    name, packages = "berkeleydb", ("libdb5.3-dev",)
    load = f"{Embedded.load}, DB_TXN_SYNC"


class Sqlite(Embedded):
    """SQLite, which has one writer at a time."""

    name, packages, groups = "sqlite", ("libsqlite3-dev",), False
    load = f"{Embedded.load}, in WAL mode with synchronous=FULL"


class Lmdb(Embedded):
    """LMDB, which has one writer at a time, and no log."""

    name, packages, groups = "lmdb", ("liblmdb-dev",), False
    load = Embedded.load


class Scheme(Side):
    """logjam with the scheme that has a product's algorithm. `flags` are the experiment's."""

    def __init__(self, folder, branches, logjam, product, flags):
        self.name = f"logjam-{product}"
        super().__init__(folder, branches)
        self.logjam = logjam
        self.flags = {name: branches if name == "tpcb_branches" else definition.text(value)
                      for name, value in flags.items()}
        self.load = "logjam run --commit=sync " + " ".join(
            f"--{name}={self.flags[name]}" for name in ("log", "workload", "cc"))

    def version(self):
        return runner.revision_of(self.logjam)

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
    """The disk's bound: durable writes by logjam's device, without any database."""

    name = "device"
    load = "logjam device: durable writes of 4 KiB, one after the other"

    def __init__(self, folder, branches, logjam):
        super().__init__(folder, branches)
        self.logjam = logjam

    def measure(self, seconds):
        """Returns the row of the device's bound. Each measured point takes `seconds`."""
        rows = self.folder / "rows.json"
        output_of([self.logjam, "device", f"--wal_dir={self.folder}", f"--seconds={seconds}",
                   f"--json={rows}"], 100 * seconds)
        lines = rows.read_text(encoding="utf-8").splitlines()
        rows.unlink()
        return outputs.device(lines)
