"""Starts the products' programs as a user without privileges. Each ends with this process."""

import glob
import os
import shutil
import subprocess

UNPRIVILEGED = "nobody"
PATIENCE_SECONDS = 300  # allowed for a load, and for a run in addition to its own seconds


class Missing(Exception):
    """A product is not available. The message, the end of a sentence, is the reason."""


class Failed(Exception):
    """A program of a product has failed. The message, the end of a sentence, says which and why."""


def program(name, package, folder="/usr/bin"):
    """Returns the path of a program, or raises Missing. `folder` may have wildcards."""
    found = max(glob.glob(f"{folder}/{name}"), default=None) or shutil.which(name)
    if found is None:
        raise Missing(f"there is no {name}, because the package {package} is not installed")
    return found


def as_user(command):
    """Returns a command that runs as the unprivileged user, and is killed when its parent dies."""
    drop = [f"--reuid={UNPRIVILEGED}", "--regid=nogroup", "--clear-groups"]
    return ["setpriv", "--pdeathsig=KILL", *(drop if os.geteuid() == 0 else []), "--",
            *map(str, command)]


def environment(**more):
    return {**os.environ, "LC_ALL": "C", **more}


def output_of(command, seconds=0, **options):
    """Returns a command's output. Raises Failed if the command fails or does not end."""
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
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"
