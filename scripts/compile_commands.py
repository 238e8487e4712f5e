#!/usr/bin/env python3
"""Makes a compilation database of what `make -Bn` prints: from stdin to stdout. Precompiled headers
are left out: they need not be built, and each file includes what it uses."""
import json
import os
import re
import shlex
import sys

commands = []
for line in sys.stdin.read().replace("\\\n", " ").splitlines():
    if " -c -o " in line:
        words = shlex.split(re.sub(r" -include \S+", "", line))
        commands.append({"directory": os.getcwd(), "file": words[-1], "arguments": words})
json.dump(commands, sys.stdout, indent=1)
