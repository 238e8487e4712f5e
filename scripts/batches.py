#!/usr/bin/env python3
"""Joins sources into few compilation units and prints the units' paths.

usage: scripts/batches.py DIRECTORY FILE.cc...

Most of the time that a file takes in a compiler or in clang-tidy goes into headers that its
neighbours include as well. Only what is built to be checked is built so: a program that may be
measured is compiled file by file.

What a file means must not depend on its neighbours. So a file whose unnamed namespace or
using-declaration has a name that occurs anywhere in another file goes into another unit: the name
could mean something else there, or its use could hide that the first file does not use it. A
flag's definition must follow its declarations, so it is such a name too. A file with a macro, a
using-directive or an alias of a namespace has a unit of its own. A name that a header declares in
the same namespace is ambiguous in a unit: it wants another name. A unit is written only if it
changes. Compilers' messages name the original files.
"""
import os
import re
import sys

MOST_FILES = 24
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
NO_WORDS = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|^#include.*$', re.M)
ALONE = re.compile(r"^(?:#define|using namespace|namespace \w+ =)", re.M)
# Of `order.size`, `order->size` and `std::size`, the size is none of these names.
WORD = re.compile(r"(?<!\.)(?<!->)(?<!::)\b[A-Za-z_]\w*")
TYPE = re.compile(r"^(?:struct|class|enum class|enum|union) (\w+)|^using (\w+) =", re.M)
# The declared name stands before its parameters, its size or its value.
OTHER = re.compile(r"^(?!(?:struct|class|enum|union|using)\b)\w[^({=;\[]*?\b(\w+)\s*[({=;\[]", re.M)
USED = re.compile(r"^using (?!namespace)([^=;]*);", re.M)
# Each registration gets a name of its own: nothing in its file refers to it.
REGISTRATION = re.compile(r"^(const \w+Registration )registration\(", re.M)
FLAG = re.compile(r"^DEFINE_\w+\(\s*(\w+)", re.M)
DECLARED_FLAG = re.compile(r"^DECLARE_\w+\(\s*(\w+)", re.M)


class Source:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name = "registration_" + re.sub(r"\W", "_", path)
        self.text = f'#line 1 "{path}"\n' + REGISTRATION.sub(rf"\1{name}(", text)
        code = NO_WORDS.sub("", REGISTRATION.sub(r"\1(", text))
        self.words = set(WORD.findall(code))
        self.words.update("FLAGS_" + flag for flag in DECLARED_FLAG.findall(code))
        unnamed = NO_WORDS.sub("", "".join(UNNAMED.findall(REGISTRATION.sub(r"\1(", text))))
        self.own = set(OTHER.findall(unnamed)).union(*TYPE.findall(unnamed))
        self.own.update("FLAGS_" + flag for flag in FLAG.findall(code))
        self.own.update(re.findall(r"::(\w+)", " ".join(USED.findall(code))))
        self.own -= {"", "alignas", "static_assert"}
        self.alone = ALONE.search(text) is not None


class Unit:
    def __init__(self):
        self.files, self.words, self.own = [], set(), set()

    def takes(self, source):
        return (not self.files or not source.alone and not self.files[0].alone and
                len(self.files) < MOST_FILES and not self.own & source.words and
                not self.words & source.own)

    def add(self, source):
        self.files.append(source)
        self.words |= source.words
        self.own |= source.own


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split("\n\n")[1])
    directory = sys.argv[1]
    units = []
    for source in map(Source, sys.argv[2:]):
        unit = next((unit for unit in units if unit.takes(source)), None)
        if not unit:
            units.append(unit := Unit())
        unit.add(source)
    os.makedirs(directory, exist_ok=True)
    for number, unit in enumerate(units):
        path = f"{directory}/{number}.cc"
        text = "".join(source.text for source in unit.files)
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        print(path)


if __name__ == "__main__":
    main()
