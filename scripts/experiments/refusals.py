"""Finds the points of a sweep that logjam refuses, before the sweep waits for an idle machine.

Most refused points are meaningless combinations, and are omitted. But if all combinations of one
value are refused, for a reason that concerns no other flag, the value is a mistake and the sweep is
refused. A sweep is also refused if a text with commas may be one value or several values.
"""

import concurrent.futures
import dataclasses
import re

from experiments import idle_watch
from experiments.errors import Refused

MOST_SAID = 3
LONGEST_LIST = 5  # values; example: --tpcc_mix=45,43,4,4,4


def checked(runner, points, split):
    """Returns the points that logjam accepts, and maps the refused points' names to reasons."""
    with concurrent.futures.ThreadPoolExecutor(idle_watch.cores()) as pool:
        why = list(pool.map(runner.refusal, points))
    refused = {point.name: reason for point, reason in zip(points, why) if reason}
    taken = [point for point in points if point.name not in refused]
    for axis, values in split.items():
        _refuse_one_value(runner, taken or points, axis, values)
    for axis, value in dict.fromkeys(item for point in points for item in point.axes.items()):
        reasons = {refused.get(point.name, "") for point in points if point.axes.get(axis) == value}
        if all(reason and set(re.findall(r"--(\w+)", reason)) <= {axis} for reason in reasons):
            reason = min(reasons)
            raise Refused(reason if f"{axis}={value}" in reason else f"{axis}={value}: {reason}")
    if not taken:
        said = lines(points, refused)
        raise Refused("nothing is left to run; " + "; ".join(said[:MOST_SAID])
                      + (f"; and {len(said) - MOST_SAID} more" if len(said) > MOST_SAID else ""))
    return taken, refused


def _refuse_one_value(runner, points, axis, values):
    """Refuses values of an axis if logjam accepts several, joined by commas, as one value."""
    runs = [values[at:at + length] for length in range(min(len(values), LONGEST_LIST), 1, -1)
            for at in range(len(values) - length + 1)]
    for joined in dict.fromkeys(map(",".join, [values, *runs])):
        others = {}  # one point for each combination of the other axes
        for point in points:
            flags = {**point.flags, axis: joined}
            others.setdefault(tuple(flags.items()), dataclasses.replace(point, flags=flags))
        if not any(map(runner.refusal, others.values())):
            several = " ".join(f"{axis}={value}" for value in joined.split(","))
            raise Refused(f"{axis}={joined} is one value or several: for several, write {several}; "
                          "for one, give the axis again with other values, or write it after --")


def lines(points, refused):
    by_reason = {}
    for point in points:
        if point.name in refused:
            by_reason.setdefault(refused[point.name], []).append(point)
    return [f"left out {len(of)}: {_described(of, points)}{why}" for why, of in by_reason.items()]


def _described(some, points):
    """Returns the values of axes that distinguish these points from the other points."""
    words = []
    for axis in points[0].axes:
        values = list(dict.fromkeys(point.axes.get(axis, "") for point in some))
        if len(values) < len({point.axes.get(axis, "") for point in points}):
            words.append(f"{axis}={','.join(values)}")
    return " ".join(words) + ": " if words else ""
