"""A reader's own question as an experiment: axes from the command line in place of a file.

    scripts/sweep.sh --out=x.csv workload=tpcc,ycsb log=centr,eleda threads=1,2 rounds=3 -- --seconds=5

Every flag of logjam can be an axis. `log=every` stands for all schemes, each on the device it
needs. A point that logjam refuses is left out, and the refusal is printed.
"""

import shlex

from experiments.definition import Experiment
from experiments.doubts import MOST_FULL_PCT
from experiments.errors import Refused
from experiments.store import axes_of


def of_rows(rows):
    """Returns the Experiment of a sweep's rows: its axes, and nothing about how it was run."""
    axes = {}
    for row in rows:
        for axis, value in axes_of(row).items():
            values = axes.setdefault(axis, [])
            if value not in values:
                values.append(value)
    return Experiment({"id": "sweep", "title": "A sweep", "claim": "", "grid": [{"axes": axes}]},
                      "the sweep")


def flags_of(words):
    """Returns a dict of flags from `--name=value` words; a flag without a value has the value
    None."""
    flags = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise Refused(f"{word} is not a flag of logjam: after `--` come flags, --NAME=VALUE")
        flags[name] = value if equals else None
    return flags


def sweep(words, flags, command="run"):
    """Returns the Experiment of `words` (NAME=VALUE,VALUE,...) and `flags` (--NAME=VALUE, of all
    points). `rounds=N` is not an axis but how often every point runs."""
    axes, rounds = {}, 3
    for word in words:
        name, equals, values = word.partition("=")
        if not equals or not name or not values:
            raise Refused(f"{word} is not an axis: NAME=VALUE,VALUE,... is")
        if name in axes:
            raise Refused(f"{name} is an axis twice")
        if name == "rounds":
            if not values.isdigit() or int(values) == 0:
                raise Refused(f"rounds={values} is not a number of rounds")
            rounds = int(values)
        else:
            axes[name] = "every" if values == "every" else values.split(",")
    if not axes:
        raise Refused("a sweep needs at least one axis, NAME=VALUE,VALUE,...")
    given = flags_of(flags)
    both = sorted(set(axes) & set(given))
    if both:
        raise Refused(f"--{both[0]} is an axis and a flag of all points")
    said = " ".join([*words, *(["--", *flags] if flags else [])])
    return Experiment({
        "id": "sweep", "title": "A sweep", "claim": shlex.quote(said),
        "grid": [{"command": command, "axes": axes, "flags": given}],
        "full": {"rounds": rounds, "seconds": 0},
        "table": {"columns": ["tps", "commit_p50_us", "commit_p99_us", "log_mb_s"] if command == "run"
                  else ["inserts_s", "mb_s", "ns_insert"],
                  "if_above": {"offered_s": 0, "backlog": 0, "pipeline_full_pct": MOST_FULL_PCT}},
    }, "the sweep")
