"""Ends a script with one sentence if a name, file or machine of the user is wrong."""

import argparse
import errno
import os
import pathlib
import re
import sys

BAD_INPUT, MACHINE_FAILED, STOPPED, NOBODY_READS = 2, 3, 130, 141
# Errors of a path on the command line, not of the machine.
NAMED_WRONGLY = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS,
                 errno.ENAMETOOLONG}


class Refused(Exception):
    """The message is one sentence. A script prints it and exits with status 2. `reason` is what
    went wrong, without a command line."""

    def __init__(self, said, reason=""):
        super().__init__(said)
        self.reason = reason or said


def whole(text):
    """For argparse: returns the whole number in a text of ASCII digits (int() takes others too)."""
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}")
    return int(text)


def number(text):
    if not re.fullmatch(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?|nan|inf", text):
        raise argparse.ArgumentTypeError(f"invalid float value: {text!r}")
    return float(text)


def parser(doc):
    return argparse.ArgumentParser(description=doc, allow_abbrev=False,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def program(path):
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        raise argparse.ArgumentTypeError(f"there is no program {path}; `make` or `make sim` builds "
                                         "it")
    return path


def end_with_usage(doc):
    """For scripts without argparse: prints the usage and ends if the first word is --help."""
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print(doc)
        sys.exit(0)


def run_main(main, name="", stopped="stopped"):
    """Ends the process with the status of main(). Prints a sentence for a mistake or Ctrl-C."""
    name = name or pathlib.Path(sys.argv[0]).name
    if sys.stdout:  # a printed file name may have bytes that are no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(main())
    except Refused as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        print(f"\n{stopped}", file=sys.stderr)
        sys.exit(STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(NOBODY_READS)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{name}: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(BAD_INPUT if error.errno in NAMED_WRONGLY else MACHINE_FAILED)
