"""Starts the products' programs, as a user without privileges. They end with this process."""

import glob
import os
import shutil
import subprocess

UNPRIVILEGED = "nobody"
PATIENCE_SECONDS = 300  # for a load, or for a run in addition to its own seconds


class Missing(Exception):
    """A product cannot be had. The message is the end of a sentence: why."""


class Failed(Exception):
    """A program of a product has failed. The message is the end of a sentence: which, and why."""


def program(name, package, folder="/usr/bin"):
    """Returns the path of a program, or raises Missing. `folder` may have wildcards."""
    found = max(glob.glob(f"{folder}/{name}"), default=None) or shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name}, because the package {package} is not installed")
    return found


def as_user(command):
    """Returns the command as the unprivileged user. It is killed if its parent dies first."""
    drop = [f"--reuid={UNPRIVILEGED}", "--regid=nogroup", "--clear-groups"]
    return ["setpriv", "--pdeathsig=KILL", *(drop if os.geteuid() == 0 else []), "--",
            *map(str, command)]


def environment(**more):
    return {**os.environ, "LC_ALL": "C", **more}


def output_of(command, seconds=0, **options):
    """Returns what the command prints. Raises Failed if it fails or does not end."""
    name = os.path.basename(str(command[0]))
    if name == "setpriv":
        name = os.path.basename(command[command.index("--") + 1])
    options.setdefault("env", environment())
    try:
        done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              errors="replace", timeout=PATIENCE_SECONDS + seconds, **options)
    except subprocess.TimeoutExpired:
        raise Failed(f"{name} does not end") from None
    except OSError as error:
        raise Failed(f"{name} cannot be started: {error.strerror}") from error
    if done.returncode != 0:
        raise Failed(f"{name} ended with status {done.returncode}: {last_words(done.stdout)}")
    return done.stdout


def last_words(text):
    """Returns the last line that says something, without a full stop."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"
