"""Makes all mutants of C++ sources with the rules of universalmutator (Groce et al.), for
proof/mutants.py. It runs on the Python for which scripts/install_deps.sh mutants has installed
that.

Reads {path: [line, ...]} as JSON, and writes {path: [[number of the line, line], ...]}: each mutant
changes one line.
"""

import contextlib
import json
import sys

from universalmutator import mutator

RULES = ["universal.rules", "cpp.rules", "c_like.rules"]


def main():
    sources = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):  # the library says what it does
        mutants = {path: [mutant[:2] for mutant in
                          mutator.mutants_regexp([line + "\n" for line in lines], ruleFiles=RULES,
                                                 ignorePatterns=[])]
                   for path, lines in sources.items()}
    json.dump(mutants, sys.stdout)


if __name__ == "__main__":
    main()
