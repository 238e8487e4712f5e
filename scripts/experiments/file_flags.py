"""Refuses flags of logjam that name files or directories. A sweep sets these flags itself, because
each run would replace a file of the user.

A value in the runner's own directories, {dir} and {memory}, is allowed. The user's own --wal_dir is
allowed if --overwrite is also given.
"""

import re

from experiments import files
from experiments.definition import CONFIG, text
from experiments.errors import Refused

# Flags whose files logjam writes; log_dir and log_link belong to glog.
WRITTEN = ("wal_dir", "csv", "json", "history", "record", "export", "export_history", "log_dir",
           "log_link")
READ = ("flagfile", "fromenv", "tryfromenv")  # a list of files with flags; lists of names of flags
ALL = (*WRITTEN, *READ)
OWN = re.compile(r"\{(dir|memory)\}(/[^/,]+)*/?")
OF_CONFIG = re.compile(r"\{config\}(/[^/,]+)+")
MOST_FLAG_FILES = 8  # nested in each other


def _is_own(value):
    return all(OWN.fullmatch(path) and ".." not in path.split("/") for path in value.split(","))


def refuse(name, value, told=False):
    """Raises Refused if a flag names a user's file. `told`: the user allows his --wal_dir."""
    if name not in ALL:
        return
    if value is None:
        raise Refused(f"--{name} needs a value: --{name}=VALUE")
    if name == "flagfile":
        for path in value.split(","):
            _refuse_in(path.replace("{config}", str(CONFIG)))
    elif name in READ:
        for of in value.replace("-", "_").split(","):
            if of in ALL:
                raise Refused(f"--{name}={value}: a sweep sets --{of} itself")
    elif not _is_own(value) and not (told and name == "wal_dir"):
        raise Refused(f"each run would replace the log in {value}: give --wal_dir before --, where "
                      "a sweep makes a directory of its own, or --overwrite after --, too"
                      if name == "wal_dir" else
                      f"each run would write to --{name}={value}: a sweep sets --{name} itself, "
                      "and --out names the file of the rows")


def refuse_in_batch(point):
    """Raises Refused if a job names other files: the plan may come from an untrusted person."""
    for flags in (point.flags, point.prepare or {}):
        for name, value in flags.items():
            place = None if value is None else text(value)
            if name == "rate" and (place or "").startswith("profile:"):
                raise Refused(f"--rate={place}: a job reads no file of its machine")
            if name == "flagfile" and not all(OF_CONFIG.fullmatch(path) and ".." not in path
                                              for path in (place or "").split(",")):
                raise Refused(f"--flagfile={place}: a job takes those of config/ alone, "
                              "{config}/NAME.flags")
            if name == "trace" and not _is_own(place or ""):
                raise Refused(f"--trace={place}: a job reads no file of this machine but its own")
            refuse(name, place)


def _refuse_in(path, depth=0):
    if depth == MOST_FLAG_FILES:
        raise Refused(f"--flagfile={path} is nested too deeply")
    for line in files.read_text(path, links=True).splitlines():
        name, _, value = line.strip().lstrip("-").partition("=")
        name = name.strip().replace("-", "_")
        if not line.strip().startswith("-") or name not in ALL:
            continue
        if name != "flagfile":
            raise Refused(f"--flagfile={path} has --{name}, which a sweep sets itself")
        for of in value.split(","):
            _refuse_in(of, depth + 1)
