"""Whether the code that made rows has changed since: asks git for the commits after their revision."""

import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RUN_BY_ALL = ("logging", "cc", "engine", "workloads", "platform")
REVISION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]*")
PRESETS = re.compile(r"\{config\}/(\S+)")  # in the flags that rows were given


@functools.lru_cache(maxsize=None)
def commits_since(revision, paths):
    """Returns how many commits after `revision` changed `paths`, or None if unknown."""
    if not REVISION.fullmatch(revision):
        return None  # it could be an option of git
    try:
        done = subprocess.run(["git", "-C", ROOT, "rev-list", "--count", f"{revision}..HEAD", "--",
                               *paths], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(done.stdout)


def paths_of(rows, profile):
    """Returns the code, presets and profile that made the rows. `profile` is "" for native rows."""
    presets = {f"config/{path}" for row in rows for path in PRESETS.findall(row.get("given") or "")}
    machine = ("sim", f"config/machines/{profile}.toml") if profile else ()
    return (*RUN_BY_ALL, *machine, *sorted(presets))


def said(rows, profile):
    """Returns a sentence about rows whose code has changed, or ""."""
    for revision in dict.fromkeys(row.get("revision", "") for row in rows):
        commits = commits_since(revision, paths_of(rows, profile))
        if commits is None:
            return f"revision {revision} is not in this repository: its code may have changed since"
        if commits:
            return (f"{commits} {'commit' if commits == 1 else 'commits'} after revision {revision} changed "
                    "code or presets that made these rows")
    return ""
