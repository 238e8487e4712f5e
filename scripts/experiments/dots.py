"""Places the dots of the first screen: our number over the published number of each judged check
that has one, in a row for each result. dot_plot.py and page/dots.js draw them."""

import json
import textwrap
import zlib

from experiments import verdicts
from experiments.findings import BY_DEVICE, NATIVE, SIMULATED

# The colours differ as greys, too, and each judge has a marker of its own.
JUDGES = {NATIVE: ("blue", "o", "native, on real cores"),
          SIMULATED: ("orange", "^", "simulated machine"),
          BY_DEVICE: ("black", "s", "a device's formula")}
DERIVED = "hollow: derived, not printed"
BAND = (1 / 2, 2)
RINGED = "ring: a range of its own"
NEAR = 10 ** 0.05  # closer dots of a row are in different lanes
LANES = (0, 0.24, -0.24)  # of a row
TITLE = 43  # letters


def placed(entries):
    """Returns the rows, and the dots as dicts. A check without a ratio has no dot."""
    rows, dots = [], []
    for entry in entries:
        found = [] if entry.experiment.own else [
            (one.ratio, one) for one in entry.findings if one.ratio]
        if not found:
            continue
        rows.append({"id": ", ".join(entry.ids), "paper": found[0][1].paper,
                     "title": textwrap.shorten(entry.experiment.title, TITLE, placeholder=" ...")})
        last = dict.fromkeys(LANES, 0.0)  # the last ratio in each lane
        for ratio, one in sorted(found, key=lambda pair: pair[0]):
            lane = next((lane for lane in LANES if ratio >= last[lane] * NEAR),
                        min(last, key=last.get))
            last[lane] = ratio
            dots.append({"row": len(rows) - 1, "lane": lane, "ratio": float(f"{ratio:.4g}"),
                         "judge": one.judge, "derived": bool(one.derived), "says": one.sentence,
                         "ringed": (BAND[0] <= ratio <= BAND[1]) != (one.word in verdicts.AGREEING)})
    return rows, dots


def digest(entries):
    """Returns a text that differs if the dots differ. The PNG contains it."""
    return f"{zlib.crc32(json.dumps(placed(entries)).encode()):08x}"
