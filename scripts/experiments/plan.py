"""Reads the files of a batch, which may come from elsewhere: all of their texts and numbers are
checked before anything is done with them."""

import hashlib
import json
import os
import re

from experiments import files
from experiments.definition import COMMANDS, Point
from experiments.errors import Refused
from experiments.store import EXTRAS

OF_PLAN = ("name", "csv", "binary", "wal_dir", "tries", "skip_refused", "jobs")
POINT = {"index", "axes", "command", "flags", "prepare"}
NAME = re.compile("[A-Za-z0-9_-]{1,100}")  # of a flag, an axis or an experiment
MOST = 10 ** 9


def fingerprint(plan):
    """Returns the checksum of all that makes two plans the same."""
    content = json.dumps([plan[name] for name in OF_PLAN], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _is_text(value):
    """Returns whether this is a text that a file or a command line can hold."""
    return isinstance(value, str) and not re.search("[\0\ud800-\udfff]", value)


def _is_name(value):
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _is_count(value):
    return type(value) is int and 0 <= value < MOST


def _is_path(value):
    return _is_text(value) and os.path.isabs(value) and ".." not in value.split("/")


def _is_value(value):
    """Returns whether this can be the value of a flag."""
    if isinstance(value, dict):
        return all(_is_name(key) and not isinstance(of, dict) and of is not None and _is_value(of)
                   for key, of in value.items())
    return value is None or _is_text(value) or isinstance(value, (bool, int, float))


def _are(value, is_key, is_value):
    return isinstance(value, dict) and all(is_key(key) and is_value(of)
                                           for key, of in value.items())


def _is_job(job):
    """Returns whether this is a round and the fields of a Point."""
    if not isinstance(job, dict) or set(job) != {"round", "point"} or not _is_count(job["round"]):
        return False
    point = job["point"]
    return (isinstance(point, dict) and set(point) == POINT and _is_count(point["index"])
            and _are(point["axes"], _is_name, _is_text) and point["command"] in COMMANDS
            and _are(point["flags"], _is_name, _is_value)
            and (point["prepare"] is None or _are(point["prepare"], _is_name, _is_value)))


def _is_list_of_jobs(value):
    return isinstance(value, list) and value != [] and all(map(_is_job, value))


def _is_wal_dir(value):
    return _is_text(value) and value != "" and ".." not in value.split("/")


FIELDS = {"name": _is_name, "csv": _is_path, "binary": _is_name, "wal_dir": _is_wal_dir,
          "tries": _is_count, "skip_refused": lambda value: isinstance(value, bool),
          "jobs": _is_list_of_jobs, "fingerprint": _is_name, "directory": _is_path}


def _json(path):
    """Returns the content of a JSON file; raises ValueError if it is none."""
    try:
        return json.loads(files.read_text(path))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read(folder):
    """Returns the content of plan.json, or raises Refused."""
    try:
        plan = _json(folder / "plan.json")
    except (OSError, ValueError, Refused) as error:
        raise Refused(f"{folder} is not a batch: {error}") from error
    if not isinstance(plan, dict) or set(plan) != set(FIELDS):
        raise Refused(f"{folder} is not a batch: plan.json has not the fields {', '.join(FIELDS)}")
    wrong = [name for name, is_right in FIELDS.items() if not is_right(plan[name])]
    if wrong:
        raise Refused(f"{folder} is not a batch: plan.json is damaged in {wrong[0]}")
    if fingerprint(plan) != plan["fingerprint"]:
        raise Refused(f"{folder} is not a batch: plan.json was changed after it was made")
    return plan


def points(plan):
    """Returns the Points of the plan's jobs, in order."""
    return [Point(**job["point"]) for job in plan["jobs"]]


def _is_column(name):
    return _is_text(name) and name not in ("", "round", "given") and not name.startswith("axis_")


def _are_rows(value):
    return isinstance(value, list) and all(_are(row, _is_column, _is_text) for row in value)


def is_result(found):
    """Returns whether this is what a job leaves: its row and those beside it, or why logjam refuses
    it."""
    if not isinstance(found, dict) or not _is_text(found.get("plan")) or not _is_count(
            found.get("job")):
        return False
    if not _is_text(found.get("host")) or not found["host"] or not _is_count(found.get("cores")):
        return False
    if "refused" in found:
        return _is_text(found["refused"])
    return (_are(found.get("row"), _is_column, _is_text) and found["row"] != {}
            and _are(found.get("extras"), EXTRAS.__contains__, _are_rows))


def read_result(path):
    """Returns the content of a job's file, or None if it is not whole. Raises FileNotFoundError if
    there is none."""
    try:
        found = _json(path)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, Refused):
        return None
    return found if is_result(found) else None
