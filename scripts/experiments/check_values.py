"""The numbers that a check looked at, in words: what a reader must see to believe a verdict."""

import copy

from experiments.analysis import NotMeasured
from experiments.curves import number
from experiments.errors import Refused
from experiments.style import short

ASKED = ("value", "values", "ratio", "ratios", "spread")
MOST = 6


def _axes(axes):
    return " ".join(f"{name}={value}" for name, value in axes.items())


def _said(name, column, args, axes):
    """Returns a call of an expression, in words."""
    at = f", {_axes(axes)}" if axes else ""
    if name in ("ratio", "ratios"):
        return f"{column}, {_axes(args[0])} over {_axes(args[1])}{at}"
    return f"{'spread of ' if name == 'spread' else ''}{column}{at}"


def _number(value):
    if isinstance(value, list):
        shown = ", ".join(short(one) for one in value[:12])
        return shown + (f" ... ({len(value)} in all)" if len(value) > 12 else "")
    return short(value)


def of_check(measured, check):
    """Returns a list of (what was asked, its answer) for a check's expression, at most MOST.
    Answers after one that
    decided may be missing."""
    found = []

    def recorded(name):
        original = getattr(measured, name)

        def ask(column, *args, **axes):
            value = original(column, *args, **axes)
            if number(value) is not None or isinstance(value, list):
                found.append((_said(name, column, args, axes), _number(value)))
            return value
        return ask

    listening = copy.copy(measured)
    for name in ASKED:
        setattr(listening, name, recorded(name))
    try:
        listening.evaluate(check["holds"])
    except (NotMeasured, Refused):
        pass
    return list(dict.fromkeys(found))[:MOST]
