"""The products that are servers, each in a directory of its own, on a unix socket alone."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from products import outputs
from products.processes import Failed, as_user, environment, last_words, output_of, program
from products.sides import Side, give

READY_SECONDS = 90
CONNECTIONS = 200


class Server(Side):
    """A product with a server process, which the signal `quits` stops."""

    process = None
    quits = signal.SIGTERM

    def launch(self, command, ready):
        """Starts the server, and waits until the command `ready` succeeds."""
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
        """Returns the server's process, and all that come from it."""
        found = [self.process.pid]
        for pid in found:
            with contextlib.suppress(OSError):  # one that ends now
                for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                    found += [int(child) for child in children.read_text().split()]
        return found


class Postgres(Server):
    name, packages = "postgres", ("postgresql-15",)
    load = "pgbench -M prepared, TPC-B"
    quits = signal.SIGQUIT  # an immediate shutdown: its files are removed anyway

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
    """MariaDB that also writes a log for its replicas."""

    name = "mariadb-binlog"
    load = "sysbench oltp_update_index, innodb_flush_log_at_trx_commit=1, binlog on, sync_binlog=1"
    binlog = ("--log-bin=mariadb-bin", "--sync-binlog=1", "--server-id=1")
    syncs = MariaDb.syncs + "; SET GLOBAL sync_binlog={0}"
