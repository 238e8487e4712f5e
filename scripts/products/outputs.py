"""Reads the output of the benchmark programs.

Each function returns the measured numbers of a run: commits, commits per second, and the 50th and
the 99th percentile of a commit's latency in microseconds.
"""

import contextlib
import json
import re
import statistics

from products.processes import Failed, last_words

# A line of sysbench's histogram: a latency in ms, a bar, and the number of events.
BIN = re.compile(r"^ *([\d.]+) \|\** +(\d+)$", re.M)


@contextlib.contextmanager
def reading(whose):
    """Raises Failed if the block cannot read a program's output."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Failed(f"{whose} printed something that is no measurement: {error}") from error


def measured(commits, tps, p50_us, p99_us):
    return {"commits": int(commits), "tps": float(tps), "commit_p50_us": float(p50_us),
            "commit_p99_us": float(p99_us)}


def number_in(pattern, text, whose):
    """Returns the number that the pattern's group matches in a program's output."""
    found = re.search(pattern, text, re.M)
    if found is None:
        raise Failed(f"{whose} printed no {pattern.split()[0]}, but: {last_words(text)}")
    with reading(whose):
        return float(found[1])


def pgbench(text, latencies):
    """Reads pgbench's summary, and the lines of its logs (the third word is the latency in us)."""
    with reading("pgbench"):
        us = [int(line.split()[2]) for line in latencies]
    if len(us) < 2:
        raise Failed("pgbench committed nothing")
    cuts = statistics.quantiles(us, n=100, method="inclusive")
    commits = number_in(r"^number of transactions actually processed: (\d+)", text, "pgbench")
    return measured(commits, number_in(r"^tps = ([\d.]+)", text, "pgbench"), cuts[49], cuts[98])


def sysbench(text):
    """Reads sysbench's summary: the median from its histogram, and the printed 99th percentile."""
    with reading("sysbench"):
        bins = [(float(ms), int(count)) for ms, count in BIN.findall(text)]
    left, median = sum(count for _, count in bins) / 2, 0.0
    for ms, count in bins:
        left -= count
        if left <= 0:
            median = ms
            break
    p99 = number_in(r"99th percentile: +([\d.]+)", text, "sysbench")
    return measured(number_in(r"transactions: +(\d+)", text, "sysbench"),
                    number_in(r"transactions: +\d+ +\(([\d.]+) per sec", text, "sysbench"),
                    1000 * median, 1000 * p99)


def db_bench(text):
    return measured(
        number_in(r"^fillrandom +: .* ops/sec [\d.]+ seconds (\d+) operations", text, "db_bench"),
        number_in(r"^fillrandom +: +[\d.]+ micros/op (\d+) ops/sec", text, "db_bench"),
        *(number_in(rf"{name}: ([\d.]+)", text, "db_bench") for name in ("P50", "P99")))


def embedded(text):
    with reading("the embedded client"):
        got = json.loads(text.splitlines()[-1])
        return measured(got["commits"], got["commits"] / got["seconds"], got["p50_us"],
                        got["p99_us"])


def scheme(row):
    """Reads a row of logjam run. One flush counts as one sync."""
    if row.get("commit_p50_us") in ("", None):
        raise Failed("logjam run acknowledged nothing, so it has no latency: give more --seconds")
    with reading("logjam run"):
        commits = max(1, float(row["transactions"]))
        flushes = float(row["flushes"] or 0)
        return {**measured(row["transactions"], row["tps"], row["commit_p50_us"],
                           row["commit_p99_us"]),
                "syncs_commit": flushes / commits,
                "bytes_commit": flushes * float(row["flush_bytes_mean"] or 0) / commits}


def device(lines):
    """Returns the row of `logjam device` with the most durable writes of 4 KiB, one at a time."""
    with reading("logjam device"):
        rows = [json.loads(line) for line in lines]
        return max((row for row in rows if row["write_bytes"] == 4096
                    and row["writes_at_once"] == 1 and row.get("sync") != "none"
                    and float(row["writes_s"]) > 0),
                   key=lambda row: float(row["writes_s"]))
