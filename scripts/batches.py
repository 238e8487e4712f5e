#!/usr/bin/env python3
"""Joins sources into few compilation units, and prints the paths of the files to compile.

usage: scripts/batches.py DIRECTORY [--tests] FILE.cc...

A compiler or clang-tidy spends most of its time on headers and their inline functions. Neighbouring
files include the same headers, so joined files compile in half of the time.

A file must mean the same in a unit as alone. So two files are not joined if one file declares a
name in its unnamed namespace, or by a using-declaration, and the name occurs anywhere in the other
file. In a unit, the name in the other file could get another meaning, or could hide from the
compiler that the first file does not use its own name. The same rule holds for the flags that a
file defines. A file with a macro, a using-directive or a namespace alias is compiled alone. If a
header declares the same name in the enclosing namespace, the name is ambiguous in a unit: rename
it. With --tests, each file's unnamed namespace gets the file's name, so all files of a folder can
be joined. (No other file calls the functions of a test file.)

If a file changes after the units were made, the script from then on compiles the file alone, and
the file's unit without the file. So a developer waits for one file and not for a unit. When more
than eight files have changed, the script makes all units again. It rewrites only units that change.
Compilers' messages name the original files.
"""
import hashlib
import itertools
import json
import pathlib
import re
import sys

from experiments import files
from experiments.errors import end_with_usage

MOST_LINES = 4000  # lines of a unit: two cores end at the same time, and g++ needs less than 1 GB
MOST_CHANGED = 8
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
NO_WORDS = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|^#include.*$', re.M)
ALONE = re.compile(r"^(?:#define|using namespace|namespace \w+ =)", re.M)
# In `order.size`, `order->size` and `std::size`, `size` is no use of a declared name.
WORD = re.compile(r"(?<!\.)(?<!->)(?<!::)\b[A-Za-z_]\w*")
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (\w+)|^using (\w+) =", re.M)
# The declared name is the word before the parameters, the size or the value.
OTHER = re.compile(r"^(?!(?:struct|class|enum|union|using)\b)\w[^({=;\[]*?\b(\w+)\s*[({=;\[]", re.M)
USED = re.compile(r"^using (?!namespace)([^=;]*);", re.M)
# Each registration gets a unique name. This is safe, because its file never refers to the name.
REGISTRATION = re.compile(r"^(const \w+Registration )registration\(", re.M)
FLAG = re.compile(r"^DEFINE_\w+\(\s*(\w+)", re.M)
DECLARED_FLAG = re.compile(r"^DECLARE_\w+\(\s*(\w+)", re.M)


class Source:
    def __init__(self, path, is_test):
        self.path, self.is_test, self.folder = path, is_test, path.rpartition("/")[0]
        self.original = pathlib.Path(path).read_text(encoding="utf-8")
        self.hash = hashlib.sha1(self.original.encode()).hexdigest()
        self.lines = self.original.count("\n")

    def text(self):
        name = re.sub(r"\W", "_", self.path)
        text = (re.sub(r"^namespace \{$", f"namespace {name} {{", self.original, flags=re.M)
                if self.is_test else REGISTRATION.sub(rf"\1registration_{name}(", self.original))
        return f'#line 1 "{self.path}"\n{text}'

    def find_names(self):
        self.alone, self.words, self.own = ALONE.search(self.original) is not None, set(), set()
        if self.is_test:
            self.alone = False
            return self
        text = REGISTRATION.sub("", self.original)
        code = NO_WORDS.sub("", text)
        self.words = set(WORD.findall(code))
        self.words.update("FLAGS_" + flag for flag in DECLARED_FLAG.findall(code))
        unnamed = NO_WORDS.sub("", "".join(UNNAMED.findall(text)))
        self.own = set(OTHER.findall(unnamed)).union(*TYPE.findall(unnamed))
        self.own.update("FLAGS_" + flag for flag in FLAG.findall(code))
        self.own.update(re.findall(r"::(\w+)", " ".join(USED.findall(code))))
        self.own -= {"", "alignas", "static_assert", "void"}
        return self

    def joins(self, other):
        return not (self.alone or other.alone or self.own & other.words or self.words & other.own)


def units_for(sources):
    return -(-sum(source.lines for source in sources) // MOST_LINES)


def in_order(sources):
    """Distributes the files, in their order, over units of about the same length."""
    units, before = [[] for _ in range(units_for(sources))], 0
    total = sum(source.lines for source in sources)
    for source in sources:
        units[before * len(units) // total].append(source)
        before += source.lines
    return units


def packed(sources):
    """Returns units of files that may be joined. Places the files with most conflicts first."""
    for source in sources:
        source.find_names()
    if sources[0].is_test:
        return [unit for _, folder in itertools.groupby(sources, lambda one: one.folder)
                for unit in in_order(list(folder))]
    units = [[] for _ in range(units_for(sources))]
    hindered = {source.path: sum(not source.joins(other) for other in sources)
                for source in sources}
    for source in sorted(sources, key=lambda source: -hindered[source.path]):
        fitting = [unit for unit in units if all(source.joins(other) for other in unit)]
        if source.alone or not fitting:
            units.append([source])
        else:
            min(fitting, key=lambda unit: sum(one.lines for one in unit)).append(source)
    return [sorted(unit, key=sources.index) for unit in units]


def main():
    end_with_usage(__doc__)
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.split("\n\n")[1])
    directory = pathlib.Path(sys.argv[1])
    is_test = sys.argv[2:3] == ["--tests"]
    sources = {path: Source(path, is_test) for path in sys.argv[2 + is_test:]}
    if not sources:
        return
    directory.mkdir(parents=True, exist_ok=True)
    state = directory / "units.json"
    hashes = {path: source.hash for path, source in sources.items()}
    try:
        known = json.loads(state.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = {"hashes": {}, "units": []}
    changed = [path for path in sources if known["hashes"].get(path) != hashes[path]]
    if len(changed) > MOST_CHANGED or not known["units"]:
        changed = []
        known = {"hashes": hashes,
                 "units": [[one.path for one in unit] for unit in packed(list(sources.values()))]}
        files.write(state, json.dumps(known))
    for number, unit in enumerate(known["units"]):
        joined = [path for path in unit if path in sources and path not in changed]
        if len(joined) == 1:
            changed += joined
        if len(joined) < 2:
            continue
        path = directory / f"{number}.cc"
        text = "".join(sources[one].text() for one in joined)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            files.write(path, text)
        print(path)
    print(*changed, sep="\n")


if __name__ == "__main__":
    main()
