"""Reads the files of a batch. The files may come from an untrusted machine, so this module checks
all texts and numbers before their use."""

import hashlib
import json
import os
import re

from experiments import files
from experiments.definition import COMMANDS, Point
from experiments.errors import Refused
from experiments.store import EXTRAS

OF_PLAN = ("name", "csv", "binary", "wal_dir", "tries", "skip_refused", "jobs")
NAME = re.compile("[A-Za-z0-9_-]{1,100}")  # of a flag, an axis or an experiment
MOST = 10 ** 9


def fingerprint(plan):
    """Returns a checksum over the data that two equal plans have in common."""
    content = json.dumps([plan[name] for name in OF_PLAN], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _is_text(value):
    """Returns whether this is a text that a file or a command line can contain."""
    return isinstance(value, str) and not re.search("[\0\ud800-\udfff]", value)


def _is_name(value):
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _is_count(value):
    return type(value) is int and 0 <= value < MOST


def _is_wal_dir(value):
    return _is_text(value) and value != "" and ".." not in value.split("/")


def _is_path(value):
    return _is_wal_dir(value) and os.path.isabs(value)


def _is_value(value):
    if isinstance(value, dict):
        return all(_is_name(key) and not isinstance(of, dict) and of is not None and _is_value(of)
                   for key, of in value.items())
    return value is None or _is_text(value) or isinstance(value, (bool, int, float))


def _is_column(name):
    return _is_text(name) and name not in ("", "round", "given") and not name.startswith("axis_")


def _map(is_key, is_value):
    return lambda value: isinstance(value, dict) and all(
        is_key(key) and is_value(of) for key, of in value.items())


def _list(form):
    return lambda value: isinstance(value, list) and all(_fits(one, form) for one in value)


def _fits(value, form):
    """Returns whether a JSON value has this form: a predicate, or a dict of the fields' forms."""
    if callable(form):
        return form(value)
    return (isinstance(value, dict) and set(value) == set(form)
            and all(_fits(value[name], of) for name, of in form.items()))


FLAGS, ROW = _map(_is_name, _is_value), _map(_is_column, _is_text)
JOB = {"round": _is_count, "point": {
    "index": _is_count, "axes": _map(_is_name, _is_text), "command": COMMANDS.__contains__,
    "flags": FLAGS, "prepare": lambda value: value is None or FLAGS(value)}}
FIELDS = {"name": _is_name, "csv": _is_path, "binary": _is_name, "wal_dir": _is_wal_dir,
          "tries": _is_count, "skip_refused": lambda value: isinstance(value, bool),
          "jobs": lambda value: value != [] and _list(JOB)(value), "fingerprint": _is_name,
          "directory": _is_path}
# The result of a job: its row and the rows of the extra files, or logjam's reason for a refusal.
OF_JOB = {"plan": _is_text, "job": _is_count, "cores": _is_count,
          "host": lambda value: _is_text(value) and value != ""}
MEASURED = {**OF_JOB, "row": lambda value: value != {} and ROW(value),
            "extras": _map(EXTRAS.__contains__, _list(ROW))}
REFUSED = {**OF_JOB, "refused": _is_text}


def _json(path):
    try:
        return json.loads(files.read_text(path))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read(folder):
    try:
        plan = _json(folder / "plan.json")
    except (OSError, ValueError, Refused) as error:
        raise Refused(f"{folder} is not a batch: {error}") from error
    if not isinstance(plan, dict) or set(plan) != set(FIELDS):
        raise Refused(f"{folder} is not a batch: plan.json has not the fields {', '.join(FIELDS)}")
    wrong = [name for name, form in FIELDS.items() if not _fits(plan[name], form)]
    if wrong:
        raise Refused(f"{folder} is not a batch: plan.json is damaged in {wrong[0]}")
    if fingerprint(plan) != plan["fingerprint"]:
        raise Refused(f"{folder} is not a batch: plan.json was changed after it was made")
    return plan


def points(plan):
    return [Point(**job["point"]) for job in plan["jobs"]]


def read_result(path):
    """Returns a job's result, or None if it is incomplete. FileNotFoundError: there is no file."""
    try:
        found = _json(path)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, Refused):
        return None
    return found if _fits(found, MEASURED) or _fits(found, REFUSED) else None
