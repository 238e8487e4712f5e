#!/usr/bin/python3
"""Runs this folder's tests, which need the program for Arm and qemu, as tests/scripts/main.py does."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "proof"), str(HERE.parent / "scripts"), str(HERE)]

from main import main  # noqa: E402 (found in tests/scripts)

if __name__ == "__main__":
    sys.exit(main(HERE))
