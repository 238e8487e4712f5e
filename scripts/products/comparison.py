"""Runs the sides in interleaved rounds, and describes the results.

A row is the result of one side at one number of clients in one round. The sides of a product are
the product, the scheme with its algorithm, and the device's bound. scripts/figures.py can draw the
rows, because config/experiments/products.toml describes their form.
"""

import os
import sys

from experiments import store
from experiments.analysis import Measured, NotMeasured
from products import trace
from products.processes import Failed, Missing
from products.sides import (BerkeleyDb, Device, Lmdb, MariaDb, MariaDbBinlog, Postgres, RocksDb,
                            Scheme, Sqlite, WiredTiger)

PRODUCTS = {side.name: side for side in (Postgres, MariaDb, MariaDbBinlog, RocksDb, WiredTiger,
                                         BerkeleyDb, Sqlite, Lmdb)}
SCHEME_ALONE = {"mysql": "Debian has no package of MySQL, so its row is that of our scheme alone"}
NAMES = (*PRODUCTS, *SCHEME_ALONE)
LEAST_BRANCHES = 10
TRACE_SECONDS, CLIENTS_A_SECOND = 1, 16  # a trace takes 1 s, plus 1 s for each 16 clients
DEVICE_SHARE = 10  # a point of `logjam device` takes a run's seconds divided by this number
SAYS = """\
product/s, scheme/s: durable commits a second; device/s: as many as the disk's durable writes allow.
unsynced/s: the product's commits a second if they sync nothing, which is what its client costs.
explained %: of the time of the product's commit, the share that our scheme of its algorithm takes.
client %: the share that a commit takes that syncs nothing. device %: that of the disk's write.
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


class Comparison:
    """The sides of a call. Use it in a `with` statement, whose end stops all sides."""

    def __init__(self, folder, names, clients, logjam, experiment):
        self.clients, self.experiment = clients, experiment
        self.folder, self.logjam, self.names = folder, logjam, names
        self.branches = max(LEAST_BRANCHES, *clients)
        self.products, self.schemes, self.device = {}, {}, None
        self.traces, self.versions = {}, {}  # (product, clients) -> columns; side -> version
        self.rows, self.well = [], True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for side in self.sides():
            side.stop()

    def sides(self):
        return [*self.products.values(), *self.schemes.values(),
                *([self.device] if self.device else [])]

    def start(self):
        """Starts the requested sides. Omits a side that is not installed, and prints the reason."""
        flags = {point.axes["product"]: point.flags for point in self.experiment.points("full")}
        self.device = Device(self.folder, self.branches, self.logjam)
        self.versions[self.device] = ""
        for name in self.names:
            if name in SCHEME_ALONE:
                say(f"products: {SCHEME_ALONE[name]}.")
            elif not self._started(name):
                continue
            if name in flags:
                side = Scheme(self.folder, self.branches, self.logjam, name, flags[name])
                self.schemes[name] = side
                self.versions[side] = side.version()

    def _started(self, name):
        side = self.products[name] = PRODUCTS[name](self.folder, self.branches)
        say(f"products: {name} is made ready")
        try:
            side.start()
            self.versions[side] = side.version()
            for clients in self.clients:
                self.traces[name, clients] = trace.traced(
                    side, clients, TRACE_SECONDS + clients // CLIENTS_A_SECOND)
        except (Missing, Failed) as why:
            self._leave_out(name, why)
        return name in self.products

    def _leave_out(self, name, why):
        self.well = False
        say(f"products: {name} is left out: {why}.")
        for sides in (self.products, self.schemes):
            if name in sides:
                sides.pop(name).stop()

    def measure(self, rounds, seconds, path):
        """Runs all sides in turn, round after round. The file `path` always contains whole rows."""
        for turn in range(1, rounds + 1):
            for clients in self.clients:
                device = self.device.measure(seconds / DEVICE_SHARE)
                for name in list(dict.fromkeys([*self.products, *self.schemes])):
                    try:
                        self.rows += self._point(turn, name, clients, seconds, device)
                    except Failed as why:
                        self._leave_out(name, why)
                    store.write_rows(path, self.rows)

    def _point(self, turn, name, clients, seconds, device):
        product, scheme = self.products.get(name), self.schemes.get(name)
        writes_s = float(device["writes_s"])
        bound = writes_s * (clients if product is None or product.groups else 1)
        made = [("device", self.device, {"tps": bound, "syncs_commit": writes_s / bound})]
        if scheme:
            got = scheme.run(clients, seconds)
            got["sync_kind"] = f"{got['syncs_commit']:.2f} synced write of the log"
            made.insert(0, ("scheme", scheme, got))
        if product:
            got = {**product.run(clients, seconds, True), **self.traces[name, clients]}
            got["no_sync_tps"] = product.run(clients, seconds, False)["tps"]
            os.sync()  # so that earlier writes do not disturb the next side
            made.insert(0, ("product", product, got))
        origin = {column: device[column] for column in ("revision", "machine")}
        rows = [self._row(turn, name, axis, clients, side, {**got, **origin})
                for axis, side, got in made]
        said = ", ".join(f"{row['axis_side']} {float(row['tps']):,.0f}/s" for row in rows)
        say(f"round {turn}, {name}, {clients} client{'s' * (clients > 1)}: {said}")
        return rows

    def _row(self, turn, name, axis, clients, side, got):
        row = {"round": turn, "axis_product": name, "axis_side": axis, "axis_clients": clients,
               "thrown_away": 0, "load": side.load, "version": self.versions[side], **got}
        return {column: f"{of:.6g}" if isinstance(of, float) else str(of)
                for column, of in row.items()}


def table(experiment, rows):
    """Returns columns and lines of medians: a line for each product and number of clients."""
    measured, lines = Measured(experiment, rows), []

    def median(column, **axes):
        try:
            return measured.value(column, **axes)
        except NotMeasured:
            return None

    def share(of, product):
        return None if None in (of, product) else 100 * product / of

    for point in measured.points(side="device"):
        axes = {"product": point["product"], "clients": point["clients"]}
        product, scheme = (median("tps", side=side, **axes) for side in ("product", "scheme"))
        unsynced, device = median("no_sync_tps", side="product", **axes), median("tps", **point)
        lines.append([axes["product"], axes["clients"], product, unsynced,
                      median("log", side="scheme", **axes) or "no scheme", scheme, device,
                      *(share(of, product) for of in (scheme, unsynced, device))])
    lines.sort(key=lambda line: NAMES.index(line[0]))
    return ["product", "clients", "product/s", "unsynced/s", "scheme", "scheme/s", "device/s",
            "explained %", "client %", "device %"], lines


def sentences(rows):
    """Returns sentences: the program of each side, and the syncs of its commits."""
    said = {}
    for row in rows:
        name, side, clients = (row[f"axis_{axis}"] for axis in ("product", "side", "clients"))
        if side == "device" or row["round"] != rows[0]["round"]:
            continue
        whose = f"{name} {row['version']}" if side == "product" else f"our scheme for {name}"
        line = (f"  with {clients} client{'s' * (clients != '1')} a commit makes "
                f"{row['sync_kind']}, and writes {float(row['bytes_commit']):,.0f} B")
        if row.get("synced_bytes_commit"):
            line += f", {float(row['synced_bytes_commit']):,.0f} B of them to what it syncs"
        said.setdefault((NAMES.index(name), side, f"{whose}: {row['load']}"), []).append(line)
    return [line for (_, _, title), lines in sorted(said.items()) for line in (title, *lines)]
