"""Provides free ports, and ends processes by force, for the tests that start servers."""

import contextlib
import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import time

PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # Debian's directories of servers
# The limit for an action that takes some seconds on an idle machine, or a minute with 200 points.
PATIENCE_SECONDS = 400 if os.environ.get("LOGJAM_TEST_ALL") else 90


def missing(programs):
    """Returns a sentence with the programs that are not installed, or ""."""
    absent = [name for name in programs if not shutil.which(name, path=PATH)]
    return f"there is no {', '.join(absent)}: scripts/install_deps.sh tools" if absent else ""


def user_name():
    """Returns the name of this process's user, regardless of the environment."""
    return pwd.getpwuid(os.geteuid()).pw_name


def free_ports(count):
    """Returns unused ports. All are bound at the same time, so they are different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def wait_until(what, condition, logs=lambda: ""):
    """Waits until `condition()` is true; returns its result. A time-out's error has `logs()`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_SECONDS} s until {what}\n{logs()}")


def processes_with(**variables):
    """Returns the processes that were started with these variables in their environment."""
    wanted = {f"{name}={value}".encode() for name, value in variables.items()}
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
    return found


def descendants(process):
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            stat = (entry / "stat").read_text()
            parent = int(stat.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = list(children.get(process, []))
    for each in found:
        found += children.get(each, [])
    return found


def end_with_parent():
    """For Popen's preexec_fn: lets the kernel kill the process when its parent ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def kill(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
