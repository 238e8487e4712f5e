"""Reads and replaces files in directories where other programs may have put links or odd files.
Follows no link, opens only regular files, and reads only a limited length.

If a link, a directory, a device or a FIFO has the name of a file, the script refuses and keeps it.
The parent directories of a file may be links. To replace a file, the script writes, syncs and
renames a new file. So other programs read the complete old or new file, and a hard link to the old
file keeps the old content.

Only one process at a time uses a file of rows, a directory of logs, or a batch.
"""

import contextlib
import csv
import fcntl
import io
import os
import pathlib
import secrets
import stat

from experiments.errors import Refused

MOST_BYTES = 256 << 20  # the longest file that is read
KINDS = ((stat.S_ISLNK, "link"), (stat.S_ISDIR, "directory"), (stat.S_ISFIFO, "FIFO"),
         (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"), (stat.S_ISSOCK, "socket"))


def _refuse_kind(path, mode):
    for is_kind, kind in KINDS:
        if is_kind(mode):
            raise Refused(f"{path} is a {kind}, where a plain file belongs")


def is_there(path):
    """Returns whether a regular file has this name. Raises Refused for another kind of file."""
    try:
        _refuse_kind(path, os.lstat(path).st_mode)
    except FileNotFoundError:
        return False
    return True


def refuse_link(folder):
    """Raises Refused if this directory, which the user has not named, is a link."""
    if os.path.islink(folder):
        raise Refused(f"{folder} is a link, where a directory belongs")


def opened(path, flags=os.O_RDONLY, links=False):
    """Returns the descriptor of a regular file. Raises Refused for another kind of file, without
    opening it: opening a device may have effects, and opening a FIFO waits. With `links`, the file
    may be a link, because the user named the file."""
    path = os.path.realpath(path) if links else path
    is_there(path)
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        _refuse_kind(path, os.fstat(descriptor).st_mode)  # the file may have been replaced
    except Refused:
        os.close(descriptor)
        raise
    return descriptor


def appending(path):
    return open(opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a", encoding="utf-8",
                newline="")


def read_bytes(path, links=False):
    with open(opened(path, links=links), "rb") as file:
        longest = os.fstat(file.fileno()).st_size > MOST_BYTES
        content = b"" if longest else file.read(MOST_BYTES + 1)  # a file of /proc has the size 0
    if longest or len(content) > MOST_BYTES:
        raise Refused(f"{path} is longer than {MOST_BYTES >> 20} MiB")
    return content


def read_text(path, links=False):
    """Returns the text of a regular file, with its original line ends."""
    try:
        return read_bytes(path, links).decode()
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is no text: {error}") from error


def read_rows(path, links=False):
    """Returns the rows of a CSV file of logjam or of a script: dicts of texts."""
    return list(csv.DictReader(io.StringIO(read_text(path, links), newline="")))


def append_row(path, row):
    """Appends a row (a dict) to a CSV file. The first row makes the file and its heading."""
    is_new = not is_there(path)
    with appending(path) as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def write(path, content):
    """Replaces the content of the file. If that fails, the file stays unchanged."""
    path = pathlib.Path(path)
    try:
        content = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        raise Refused(f"{path} would get a text that is no UTF-8: {error}") from error
    mode = stat.S_IMODE(os.lstat(path).st_mode) if is_there(path) else None
    partial = path.with_name(f".{os.getpid()}-{secrets.token_hex(8)}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                         | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_still(file, path):
    """Returns whether this open file still has this name. A process that releases a lock unlinks
    the lock's file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def alone(path, option="another path"):
    """Locks PATH.lock, and yields the lock's descriptor. Makes the directory. Raises Refused, and
    advises `option`, if another process has the lock or if the directory is not writable. The lock
    of a killed process is free."""
    lock = f"{path}.lock"
    folder = os.path.dirname(lock) or "."
    try:
        os.makedirs(folder, exist_ok=True)
        while True:
            file = open(opened(lock, os.O_RDWR | os.O_CREAT), "w", encoding="utf-8")
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
