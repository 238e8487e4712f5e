#!/usr/bin/python3
"""Measures how often the rule of `figures.py history` errs, by histories with seeded noise.

The noise of a round is drawn from rows of this project's machine: the ratio of two consecutive
rounds of the same point of results/every-log/quick.csv. The two rounds lie minutes apart, and a
history runs its two binaries in turn, so its noise is smaller, and its errors are fewer. Each
revision also differs by itself (--layout), because compilers place the code of each build elsewhere.

The script prints how many unchanged histories have a change (a false alarm), and after how many
revisions a planted slow-down is found: of one point, and of all points.
"""

import math
import pathlib
import random
import statistics

from experiments import changes, definition, doubts, files, history
from experiments.errors import number, parser, run_main, whole
from experiments.store import axes_of, number_of
from experiments.text_tables import print_lines, say

ROWS = pathlib.Path(__file__).resolve().parent.parent / "results" / "every-log" / "quick.csv"


def noise_of(path=ROWS):
    """Returns the logarithms of the ratios of consecutive rounds, without doubtful rows."""
    rates = {}
    for row in files.read_rows(path):
        if not doubts.disturbed(row) and not doubts.unsteady(row) and number_of(row["tps"]):
            point = tuple(sorted(axes_of(row).items()))
            rates.setdefault(point, {})[int(row["round"])] = math.log(float(row["tps"]))
    return [of[round_] - of[round_ - 1] for of in rates.values() for round_ in of if round_ - 1 in of]


class Machine:
    """Draws revisions: a number for each point, as history.line_of() computes them."""

    def __init__(self, noise, points, rounds, layout, seed):
        self.noise, self.points, self.rounds, self.layout = noise, points, rounds, layout
        self.random = random.Random(seed)

    def revision(self, slower):
        """Returns the numbers of a revision. `slower` maps points to the logarithms of their change."""
        return {point: slower.get(point, 0.0) + self.random.gauss(0, self.layout) + history.typical(
            self.random.choices(self.noise, k=self.rounds)) for point in self.points}


def false_alarm(machine, revisions):
    """Returns the revision after which an unchanged history has its first change, or None."""
    series = {point: [] for point in machine.points}
    for count in range(1, revisions + 1):
        for point, value in machine.revision({}).items():
            series[point].append(value)
        if changes.find(series):
            return count
    return None


def found_after(machine, before, slower, most):
    """Returns how many slow revisions it takes until a change is found whose first revision is at
    most two away from the first slow one, or None if `most` do not suffice."""
    series = {point: [] for point in machine.points}
    for count in range(before + most):
        now = machine.revision(slower if count >= before else {})
        for point, value in now.items():
            series[point].append(value)
        late = count - before + 1
        if late >= changes.FEWEST_AFTER and any(
                abs(change.index - before) <= 2 and change.ratio < 1 for change in changes.find(series)):
            return late
    return None


def main():
    options = parser(__doc__)
    options.add_argument("--histories", type=whole, default=200)
    options.add_argument("--revisions", type=whole, default=100, help="of an unchanged history")
    options.add_argument("--before", type=whole, default=20, help="revisions before the slow-down")
    options.add_argument("--percent", type=number, default=5, help="of the slow-down")
    options.add_argument("--layout", type=number, default=0.5,
                         help="percent by which builds differ without a reason")
    options.add_argument("--seed", type=whole, default=1)
    given = options.parse_args()
    noise, experiment = noise_of(), definition.find(history.ID)
    points = [point.name for point in experiment.points("quick")]
    rounds, slow = experiment.sizes["quick"].rounds, math.log1p(-given.percent / 100)
    say(f"noise: {len(noise)} ratios of consecutive rounds, standard deviation "
        f"{100 * statistics.stdev(noise):.1f} %; {rounds} rounds of {len(points)} points a revision")

    def machines():
        return (Machine(noise, points, rounds, given.layout / 100, f"{given.seed}/{number}")
                for number in range(given.histories))

    alarms = [after for after in (false_alarm(one, given.revisions) for one in machines()) if after]
    say(f"{len(alarms)} of {given.histories} unchanged histories of {given.revisions} revisions have "
        "a change")
    lines = []
    for what, slower in (("one point", {points[-1]: slow}), ("all points", dict.fromkeys(points, slow))):
        late = sorted((found_after(one, given.before, slower, 60) or math.inf for one in machines()))
        lines.append([f"{given.percent:g} % of {what}", *(
            f"{at}" if (at := late[int(share * (len(late) - 1))]) < math.inf else "more than 60"
            for share in (0.1, 0.5, 0.9))])
    print_lines(["slower by", "found after, 10 %", "half", "90 % of the histories"], lines)


if __name__ == "__main__":
    run_main(main)
