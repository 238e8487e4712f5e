#!/usr/bin/python3
"""Runs a command where io_uring is forbidden, as in a container: a filter of system calls answers
io_uring_setup, io_uring_enter and io_uring_register with EPERM, as Docker's default profile does.

usage: tests/scripts/without_io_uring.py COMMAND [ARGUMENT...]
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_AT_LEAST, JUMP_IF_ABOVE, RETURN = 0x20, 0x35, 0x25, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
FIRST, LAST = 425, 427  # the numbers of the three calls, on every processor


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forbid():
    steps = [(LOAD, 0, 0, 0), (JUMP_IF_AT_LEAST, 0, 2, FIRST), (JUMP_IF_ABOVE, 1, 0, LAST),
             (RETURN, 0, 0, FAIL | errno.EPERM), (RETURN, 0, 0, ALLOW)]
    text = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = Program(len(steps), text)
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0):
        sys.exit(f"cannot filter system calls: {os.strerror(ctypes.get_errno())}")


def main():
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        sys.exit(__doc__)
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
