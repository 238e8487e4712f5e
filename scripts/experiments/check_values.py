"""Describes in words the numbers on which the verdict of a check depends."""

import copy

from experiments import verdicts
from experiments.analysis import NotMeasured
from experiments.errors import Refused
from experiments.style import short

ASKED = ("value", "values", "ratio", "ratios", "spread")
MOST = 6


def _axes(experiment, axes):
    return " ".join(f"{name}={experiment.name_of(name, value)}" for name, value in axes.items())


def _said(experiment, name, column, args, axes):
    at = f", {_axes(experiment, axes)}" if axes else ""
    if name in ("ratio", "ratios"):
        return f"{column}, {_axes(experiment, args[0])} over {_axes(experiment, args[1])}{at}"
    return f"{'spread of ' if name == 'spread' else ''}{column}{at}"


def _number(value):
    if isinstance(value, list):
        shown = ", ".join(short(one) for one in value[:12])
        return shown + (f" ... ({len(value)} in all)" if len(value) > 12 else "")
    return short(value)


def of_check(measured, check):
    """Returns at most MOST (question, answer) pairs for a check's expressions."""
    found = []

    def recorded(name):
        original = getattr(measured, name)

        def ask(column, *args, **axes):
            value = original(column, *args, **axes)
            if isinstance(value, (int, float, list)):
                found.append((_said(measured.experiment, name, column, args, axes), _number(value)))
            return value
        return ask

    listening = copy.copy(measured)
    for name in ASKED:
        setattr(listening, name, recorded(name))
    try:
        verdicts.of_numbers(listening.evaluate, check)
    except (NotMeasured, Refused):
        pass
    return list(dict.fromkeys(found))[:MOST]


def ours_of(measured, check):
    """Returns our number, or None for a sentence and without rows."""
    try:
        return measured.evaluate(check["ours"]) if "ours" in check else None
    except (NotMeasured, Refused):
        return None


def beside_published(measured, check):
    """Returns a text with our number, the published number and their ratio, or ""."""
    ours = ours_of(measured, check)
    if ours is None:
        return ""
    published, (low, high) = check["published"], verdicts.band_of(check)
    said = f"ours {short(ours)}, published {short(published)}"
    said += f" (derived: {check['derived']})" if "derived" in check else ""
    times = ours / published if published else 0
    if times > 2 or 0 < times < 1 / 2:
        said += f" ({short(max(times, 1 / times))} times {'more' if times > 1 else 'less'})"
    return f"{said}; it agrees from {short(low)} to {short(high)}"
