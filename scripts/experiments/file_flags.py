"""The flags of logjam that name files or directories: a sweep sets them itself, and a reader's own
file would be replaced by every run.

A value in the runner's own directories, {dir} and {memory}, does no harm. The reader's own
--wal_dir is taken if --overwrite is given as well.
"""

import re

from experiments import files
from experiments.definition import CONFIG, text
from experiments.errors import Refused

# logjam writes there; log_dir and log_link are of glog.
WRITTEN = ("wal_dir", "csv", "json", "history", "export", "export_history", "log_dir", "log_link")
READ = ("flagfile", "fromenv", "tryfromenv")  # lists of files with flags, of names of flags
ALL = (*WRITTEN, *READ)
OWN = re.compile(r"\{(dir|memory)\}(/[^/,]+)*/?")
OF_CONFIG = re.compile(r"\{config\}(/[^/,]+)+")
MOST_FLAG_FILES = 8  # nested


def _is_own(value):
    """Returns whether these paths are all in the runner's own directories."""
    return all(OWN.fullmatch(path) and ".." not in path.split("/") for path in value.split(","))


def refuse(name, value, told=False):
    """Raises Refused if a flag leads to a reader's file. `told`: --overwrite is given, too."""
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
    """Raises Refused if a job would use other files: a stranger may have written the plan."""
    for flags in (point.flags, point.prepare or {}):
        for name, value in flags.items():
            place = None if value is None else text(value)
            if name == "flagfile" and not all(OF_CONFIG.fullmatch(path) and ".." not in path
                                              for path in (place or "").split(",")):
                raise Refused(f"--flagfile={place}: a job takes those of config/ alone, "
                              "{config}/NAME.flags")
            refuse(name, place)


def _refuse_in(path, depth=0):
    """Raises Refused if a flag file, or a flag file that it names, has one of these flags."""
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
