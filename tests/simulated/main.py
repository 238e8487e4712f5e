#!/usr/bin/python3
"""Runs the tests of this folder, which need the simulated program, as tests/scripts/main.py its own."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scripts"), str(HERE)]

from main import main  # noqa: E402 (found in tests/scripts)

if __name__ == "__main__":
    sys.exit(main(HERE))
