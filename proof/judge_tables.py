#!/usr/bin/env python3
"""Checks recovered tables with SQL written from the specifications (proof/sql/).

A round runs TPC-C, TPC-B, TATP or SmallBank at a small scale, kills it (SIGKILL), recovers it with --export,
loads the CSV files into DuckDB, and asks for the rows that violate each of the specification's
conditions. It uses none of logjam's own checks. With --break, the script also tests the conditions:
it changes one value of the exported files, and the condition must return a row. The first round
tests all conditions, each later round tests one. scripts/install_deps.sh judge installs DuckDB.
"""

import collections
import csv
import os
import re
import shutil
import sys
import tempfile

import rounds
import workload_rounds
from experiments.errors import Refused, run_main

try:
    import duckdb
except ImportError:
    duckdb = None  # then main() starts PYTHON, which may have duckdb

SQL = os.path.join(rounds.ROOT, "proof", "sql")
PYTHON = os.path.join(rounds.ROOT, "build", "judge", "bin", "python")  # has DuckDB
WORKLOADS = ["smallbank", "tatp", "tpcb", "tpcc"]


def plus_one(value):
    return str(int(value) + 1)


def plus_one_cent(value):
    return f"{float(value) + 0.01:.2f}"


# Maps each condition to a change that violates the condition: the table whose last row changes, the
# column, and the new value or a function from the old value to the new value.
BREAKS = {
    "tpcc": {
        1: ("warehouse", "w_ytd", plus_one_cent),
        2: ("district", "d_next_o_id", plus_one),
        3: ("new_order", "no_o_id", "0"),
        4: ("order", "o_ol_cnt", plus_one),
        5: ("order", "o_carrier_id", lambda value: "" if value else "1"),
        6: ("order_line", "ol_o_id", plus_one),
        7: ("order_line", "ol_delivery_d", lambda value: "" if value else "1"),
        8: ("history", "h_amount", plus_one_cent),
        9: ("district", "d_ytd", plus_one_cent),
        10: ("customer", "c_balance", plus_one_cent),
        11: ("customer", "c_delivery_cnt", plus_one),
        12: ("customer", "c_ytd_payment", plus_one_cent),
    },
    "tpcb": {
        1: ("teller", "t_balance", plus_one),
        2: ("account", "a_balance", plus_one),
        3: ("history", "h_delta", plus_one),
        4: ("teller", "t_balance", plus_one),
        5: ("account", "a_balance", plus_one),
        6: ("history", "h_b_id", plus_one),
        7: ("teller", "t_b_id", plus_one),
    },
    "smallbank": {
        1: ("checking", "custid", plus_one),
        2: ("checking", "bal", plus_one_cent),
        3: ("savings", "bal", "-0.01"),
    },
    "tatp": {
        1: ("subscriber", "sub_nbr", lambda value: value[1:]),
        2: ("subscriber", "hex_3", "16"),
        3: ("subscriber", "vlr_location", "0"),
        4: ("access_info", "ai_type", "5"),
        5: ("access_info", "data3", "AB"),
        6: ("special_facility", "sf_type", "0"),
        7: ("special_facility", "is_active", "2"),
        8: ("call_forwarding", "sf_type", "5"),
        9: ("call_forwarding", "end_time", "41"),
        10: ("call_forwarding", "numberx", lambda value: value[1:] + "x"),
    },
}


def arguments():
    made = rounds.options(__doc__, rounds=19, seed=1)
    made.add_argument("--workloads", default=",".join(WORKLOADS), help="separated by commas")
    made.add_argument("--break", dest="breaks", action="store_true",
                      help="see conditions fail: all in the first round, then one a round")
    given = made.parse_args()
    given.workloads = given.workloads.split(",")
    for name in given.workloads:
        if name not in WORKLOADS:
            made.error(f"there is no SQL for {name}, only for {', '.join(WORKLOADS)}")
    return given


def statements(workload):
    """Returns the statements that create the tables, and the conditions: {number: (title, SQL)}."""
    with open(os.path.join(SQL, f"{workload}.sql"), encoding="utf-8") as file:
        preamble, *rest = re.split(r"^-- (\d+): ", file.read(), flags=re.MULTILINE)
    conditions = {}
    for number, text in zip(rest[::2], rest[1::2]):
        title, _, query = text.partition("\n")
        conditions[int(number)] = (title, query)
    return preamble, conditions


def violations(workload, directory):
    """Maps each condition's number to the first row that violates the condition, or to None.
    Condition 0: the values have the types of their columns."""
    database = duckdb.connect()
    preamble, conditions = statements(workload)
    database.execute(preamble)
    try:
        load(database, directory)
    except duckdb.ConversionException as error:
        return {0: str(error).split("\n")[:3]}
    return {number: database.execute(query).fetchone()
            for number, (_, query) in conditions.items()}


def load(database, directory):
    for (table,) in database.execute("select table_name from duckdb_tables()").fetchall():
        columns = ", ".join(row[0] for row in database.execute(f'describe "{table}"').fetchall())
        database.execute(f'insert into "{table}" select {columns} from read_csv(?, header = true, '
                         "all_varchar = true, delim = ',', quote = '\"', escape = '\"')",
                         [os.path.join(directory, f"{table}.csv")])


def tell(workload, found):
    _, conditions = statements(workload)
    conditions[0] = ("values have their columns' types", "")
    for number, row in found.items():
        if row is not None:
            print(f"VIOLATED {workload} {number}: {conditions[number][0]}: {row}", flush=True)
    return not any(found.values())


def break_one(source, target, table, column, how):
    """Copies the exported files and changes one value of the table's last row."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    path = os.path.join(target, f"{table}.csv")
    with open(path, newline="", encoding="latin-1") as file:
        header, *rows = csv.reader(file)
    if not rows:
        return False
    at = header.index(column)
    rows[-1][at] = how(rows[-1][at]) if callable(how) else how
    with open(path, "w", newline="", encoding="latin-1") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return True


def break_each(workload, directory, numbers):
    """Breaks the conditions with these numbers in turn, except conditions on tables without rows.
    Returns whether each broken condition failed."""
    good = True
    for number in numbers:
        table, column, how = BREAKS[workload][number]
        if not break_one(directory, directory + ".broken", table, column, how):
            print(f"{workload} {number}: {table} is empty, so nothing can be changed in it")
            continue
        found = violations(workload, directory + ".broken")
        failing = [n for n, row in found.items() if row is not None]
        print(f"{workload} {number}: {table}.{column} changed, violated: {failing}", flush=True)
        good = good and number in failing
    return good


def play(given, workload, number, directory):
    """Runs, kills, recovers and exports. Returns the directory with the tables."""
    combinations = rounds.combinations(given.logjam)
    log, tables = os.path.join(directory, "log"), os.path.join(directory, "tables")
    shutil.rmtree(tables, ignore_errors=True)
    row, said = workload_rounds.play(given.logjam, log, workload,
                                     workload_rounds.small_scales()[workload],
                                     *combinations[number % len(combinations)], given.seed + number)
    if row["result"] != "verified":
        raise Refused(f"{row}\n{said}")
    recover = re.search(r"^(\S+ recover .*)$", said, re.MULTILINE)[1].split()
    recover = [word for word in recover if word != "--verify"] + [f"--export={tables}"]
    status, said, _ = rounds.recover(recover)
    if status != 0:
        raise Refused(f"{' '.join(recover)}\nexited {status}: {said}")
    return tables, row["recovered"]


def main():
    given = arguments()
    if duckdb is None and os.access(PYTHON, os.X_OK) and sys.executable != PYTHON:
        os.execv(PYTHON, [PYTHON, *sys.argv])
    if duckdb is None:
        raise Refused("the Python package duckdb is missing: scripts/install_deps.sh judge installs it")
    directory = tempfile.mkdtemp(prefix="logjam-tables-")
    results = collections.Counter()
    for workload in given.workloads:
        recovered = 0
        for number in range(given.rounds):
            tables, transactions = play(given, workload, number, directory)
            recovered += transactions
            results["held" if tell(workload, violations(workload, tables)) else "VIOLATED"] += 1
            if given.breaks:
                numbers = list(BREAKS[workload])
                if number > 0:
                    numbers = [numbers[number % len(numbers)]]
                results["seen failing" if break_each(workload, tables, numbers)
                        else "NOT SEEN"] += 1
        print(f"{workload}: {given.rounds} rounds, {len(statements(workload)[1])} conditions each, "
              f"{recovered} transactions recovered", flush=True)
    shutil.rmtree(directory)
    print(", ".join(f"{count} {result}" for result, count in results.items()))
    return 1 if results["VIOLATED"] or results["NOT SEEN"] else 0


if __name__ == "__main__":
    run_main(main)
