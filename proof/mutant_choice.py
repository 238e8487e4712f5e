"""The mutants of a tree, and the order in which a seed draws them.

A generator makes mutants of text and does not know C++. It never sees what no test should judge:
comments, literals, LOG statements and the messages of CHECKs are taken out before, and the literals
are put back after.
"""

import json
import pathlib
import random
import re
import subprocess
import typing

ROOMS = ["logging", "cc", "engine/checkpoint", "engine/recovery", "proof"]
# Comments, literals, raw literals. An apostrophe after a digit separates digits.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|"""
                   r"""(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'""", re.DOTALL)
LOG = re.compile(r"\b[DPV]*LOG(?:_[A-Z_]+)?\(")
CHECK = re.compile(r"\b[DP]*CHECK(?:_[A-Z]+)?\(")
# Stands for a hidden text: letters that no rule of the generator knows.
NAME = re.compile(r"Hidden_[A-H]+_")
SEVERAL_LINES = "\0"
# Lines whose mutants never compile, or make no code.
WITHOUT_CODE = re.compile(r"\s*(#|using |namespace |template ?<|static_assert|public:|private:|"
                          r"protected:|friend |DECLARE_)|[^\n]*" + SEVERAL_LINES)
OPERATOR = re.compile(r"[<>=&*]+")
ADDED_JUMP = re.compile(r" *(break|continue);")


class Mutant(typing.NamedTuple):
    path: str
    line: int  # from 1
    before: str
    after: str


class Hidden:
    """A text with names in place of what no mutant may change."""

    def __init__(self, text):
        self._by_name = {}
        text = TOKEN.sub(self._hide_token, text)
        for begin, end in reversed(spans_of_messages(text)):
            text = text[:begin] + self._hide_lines(text[begin:end]) + text[end:]
        self.lines = [line.rstrip() for line in text.split("\n")]

    def restored(self, line):
        return NAME.sub(lambda name: self._by_name[name[0]], line)

    def _name(self, text):
        number, letters = len(self._by_name), ""
        while not letters or number:
            number, digit = divmod(number, 8)
            letters += "ABCDEFGH"[digit]
        name = f"Hidden_{letters}_"
        self._by_name[name] = self.restored(text)
        return name

    def _hide_token(self, match):
        token = match[0]
        if token.startswith("/"):
            return "\n" * token.count("\n")
        breaks = token.count("\n")
        return SEVERAL_LINES + ("\n" + SEVERAL_LINES) * breaks if breaks else self._name(token)

    def _hide_lines(self, text):
        return "\n".join(self._name(line) if line else "" for line in text.split("\n"))


def spans_of_messages(text):
    """Returns where the statements that log begin and end, and the messages of CHECKs."""
    spans = []
    for found in LOG.finditer(text):
        spans.append((found.start(), text.find(";", found.end()) + 1 or len(text)))
    for found in CHECK.finditer(text):
        end, depth = found.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if text[end:].lstrip().startswith("<<"):
            spans.append((end, text.find(";", end)))
    return sorted(spans)


def may_change(line):
    return (re.search(r"[A-Za-z0-9]", NAME.sub("", line)) is not None and
            WITHOUT_CODE.match(line) is None)


def never_compiles(before, after):
    """Returns whether a mutant can be thrown out without a compiler, which takes seconds. The layout
    is clang-format's. Mutants that this does not know only take longer."""
    at = 0
    while at < min(len(before), len(after)) and before[at] == after[at]:
        at += 1
    if ADDED_JUMP.fullmatch(after, at):
        # The body of a loop is indented twice, and a statement comes where another one ends.
        indentation = len(before) - len(before.lstrip()) + 2 * before.endswith("{")
        return indentation < 4 or before[-1:] not in tuple(";{}")
    if re.search(r"[A-Za-z_]\d*$", before[:at]) and before[at:at + 1].isdigit():
        return True  # a digit of a name: uint64_t
    return changes_a_declarator(before, at)


def changes_a_declarator(before, at):
    """Returns whether there is a `<`, `>`, `*` or `&` that is no operator between two values: those
    have spaces on both sides, and no shift or stream is meant."""
    if before[at:at + 1] not in tuple("<>*&"):
        return False
    while before[at - 1:at] and before[at - 1] in "<>=&*":
        at -= 1
    operator = OPERATOR.match(before, at)[0]
    around = before[at - 1:at] + before[at + len(operator):at + len(operator) + 1]
    return operator in ("<<", ">>") or around != "  "


def generated(command, sources):
    """Runs the generator; returns {path: [[number of the line, line], ...]}."""
    done = subprocess.run(command, input=json.dumps(sources), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def candidates(tree, command):
    """Returns all mutants of the tree's rooms, as {(path, line): [Mutant, ...]}."""
    paths = sorted(str(path.relative_to(tree)) for room in ROOMS for ending in ("cc", "h")
                   for path in pathlib.Path(tree, room).rglob(f"*.{ending}"))
    texts = {path: pathlib.Path(tree, path).read_text(encoding="utf-8") for path in paths}
    hidden = {path: Hidden(text) for path, text in texts.items()}
    sources = {path: [line if may_change(line) else "" for line in of.lines]
               for path, of in hidden.items()}
    found = {}
    for path, mutants in generated(command, sources).items():
        lines = texts[path].split("\n")
        for number, changed in mutants:
            plain = sources[path][number - 1]
            # A statement that is added stays on the line: the numbers of other lines, which CHECKs
            # keep, do not change.
            changed = changed.rstrip("\n").replace("\n", " ")
            if changed.split() == plain.split() or never_compiles(plain, changed):
                continue
            of_line = found.setdefault((path, number), [])
            mutant = Mutant(path, number, lines[number - 1], hidden[path].restored(changed))
            if mutant not in of_line:
                of_line.append(mutant)
    return found


def drawn(found, seed):
    """Yields one mutant of each line. Every line is as likely as every other, whatever the number
    of mutants that it has. The order is a function of the mutants and the seed."""
    draw = random.Random(seed)
    lines = sorted(found)
    draw.shuffle(lines)
    for line in lines:
        yield draw.choice(found[line])


def found_again(tree, mutants):
    """Yields those of these mutants whose line is still in the tree, maybe at another place."""
    for mutant in mutants:
        path = pathlib.Path(tree, mutant.path)
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        places = [at for at, line in enumerate(lines, 1) if line == mutant.before]
        if mutant.line in places or len(places) == 1:
            yield mutant._replace(line=mutant.line if mutant.line in places else places[0])
