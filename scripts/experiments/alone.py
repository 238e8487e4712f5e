"""One process at a time works on a file of rows, on a directory of logs, or for a batch."""

import contextlib
import fcntl
import os

from experiments import files
from experiments.errors import Refused


def _is_still(file, path):
    """Returns whether the open file is the one of this name: the process that held it before
    removes it."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def alone(path, option="another path"):
    """Holds PATH.lock, and gives its file descriptor; makes the directory for it. Raises Refused if
    another process holds it, or if nothing can be written there; `option` is what names another
    place. A killed process holds it no longer."""
    lock = f"{path}.lock"
    folder = os.path.dirname(lock) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        while True:
            file = open(files.opened(lock, os.O_RDWR | os.O_CREAT), "w", encoding="utf-8")
            if os.fstat(file.fileno()).st_size:
                raise Refused(f"{lock} is there and is no lock, which is empty: give {option}")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(file, lock):
                break
            file.close()
    except BlockingIOError as error:
        raise Refused(f"{path} is in use by another process: wait for its end, or give "
                      f"{option}") from error
    except OSError as error:
        raise Refused(f"nothing can be written in {folder}: {error.strerror}; give "
                      f"{option}") from error
    with file:
        try:
            yield file.fileno()
        finally:
            if _is_still(file, lock):
                os.unlink(lock)
