#!/usr/bin/env python3
"""Writes a compilation database: the command that compiles each source alone, for editors and
clang's tools.

usage: scripts/compile_commands.py FILE.json COMPILER FLAGS...
"""
import json
import os
import pathlib
import sys

from experiments import files
from experiments.errors import end_with_usage, run_main

FOLDERS = ["cc", "cli", "engine", "logging", "platform", "proof", "sim", "tests", "workloads"]


def main():
    end_with_usage(__doc__)
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    path, compiler, *flags = sys.argv[1:]
    sources = [str(source) for folder in FOLDERS
               for source in sorted(pathlib.Path(folder).rglob("*.cc"))]
    commands = [{"directory": os.getcwd(), "file": source,
                 "arguments": [compiler, *flags, "-c", source]} for source in sources]
    files.write(path, json.dumps(commands, indent=1))


if __name__ == "__main__":
    run_main(main)
