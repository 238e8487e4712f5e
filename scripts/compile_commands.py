#!/usr/bin/env python3
"""Makes a compilation database of what `make -Bn` prints: from stdin to stdout."""
import json
import os
import shlex
import sys

commands = []
for line in sys.stdin.read().replace("\\\n", " ").splitlines():
    if " -c -o " in line:
        words = shlex.split(line)
        commands.append({"directory": os.getcwd(), "file": words[-1], "arguments": words})
json.dump(commands, sys.stdout, indent=1)
