#!/usr/bin/python3
"""Plants small bugs one at a time, and counts how many of them the tests see.

A seed draws mutants of logging/, cc/, engine/checkpoint/, engine/recovery/ and proof/ from those
that universalmutator makes. What does not compile, or compiles to the same code, is thrown out and
does not count. Each other mutant runs the tests that its file concerns, and then all tests but
those of style, until one fails or hangs. A mutant that no test sees has survived: a test is
missing, or the program does the same with it.

Everything happens in a clone of the last commit, in build/mutants/. The same seed draws the same
mutants of a commit, and a larger --count goes on where a smaller one ended. An ended session goes
on with the same command. --again=FILE plants what has survived an earlier session, at the present
commit: have the tests that were added since seen it?
"""

import argparse
import fcntl
import json
import pathlib
import signal
import sys
import time

import mutant_choice
import mutant_tests
import mutant_tree

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = pathlib.Path("build", "mutants")
JUDGED = ("caught", "survived")
MOST_DISMISSED = 5


class Refused(Exception):
    """The message is one sentence."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=30, help="mutants to judge")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", help="a session's file: plant what has survived there")
    parser.add_argument("--patience", type=float, default=mutant_tests.PATIENCE_SECONDS,
                        help="a test hangs if it takes these seconds and ten times its usual time")
    parser.add_argument("--root", default=ROOT, type=pathlib.Path, help="the repository")
    parser.add_argument("--generator", help="a script to make the mutants with, in place of "
                                            "proof/generate_mutants.py")
    given = parser.parse_args()
    if given.count < 1:
        parser.error("--count must be at least 1")
    return given


def generator_of(given):
    if given.generator:
        return [sys.executable, given.generator]
    python = given.root / FOLDER / "venv" / "bin" / "python"
    if not python.exists():
        raise Refused("universalmutator is not installed: scripts/install_deps.sh mutants")
    return [python, ROOT / "proof" / "generate_mutants.py"]


class Session:
    """What was found of each mutant that was drawn so far: a file with a line for each."""

    def __init__(self, path):
        self.path, self.found = path, []
        if path.exists():
            lines = path.read_text(encoding="utf-8").split("\n")
            self.found = [json.loads(line) for line in lines[:-1]]  # the last one may be torn
            path.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")

    def add(self, mutant, verdict):
        self.found.append({**mutant._asdict(), **verdict})
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(self.found[-1]) + "\n")

    def of(self, verdict):
        return [one for one in self.found if one["verdict"] == verdict]

    def judged(self):
        return sum(len(self.of(verdict)) for verdict in JUDGED)

    def mutants_of(self, verdict):
        return [self.mutant_of(one) for one in self.of(verdict)]

    @staticmethod
    def mutant_of(one):
        return mutant_choice.Mutant(*(one[field] for field in mutant_choice.Mutant._fields))


def prepared_tests(given, folder, tree, revision):
    """Builds the unchanged tree and returns its tests: all but those of style, and what fails
    there. Their usual times are measured once for each commit."""
    print("building the unchanged tree", flush=True)
    said = tree.build()
    if said:
        raise Refused(f"the unchanged tree does not build: {said[-2000:]}")
    style = mutant_tests.of_style(tree.path)
    path = folder / f"{revision[:12]}-unchanged.json"
    if not path.exists():
        print("running all tests of the unchanged tree", flush=True)
        played = mutant_tests.Suite(tree.path, style).play(["*"], to_the_end=True)
        if not played.ms:
            raise Refused(f"the tests of the unchanged tree do not run: {played.failed}")
        path.write_text(json.dumps({"ms": played.ms, "failed": played.failed}), encoding="utf-8")
    known = json.loads(path.read_text(encoding="utf-8"))
    for name in known["failed"]:
        print(f"fails without a mutant, and is left out: {name}")
    return mutant_tests.Suite(tree.path, style + known["failed"], known["ms"], given.patience)


def judge(tree, tests, mutant):
    """Returns the verdict of a mutant, with the tests that failed, and whether they fail again. A
    failure is dismissed if the unchanged program has it too, at the same time: a busy machine makes
    tests slow."""
    dismissed = []
    tree.plant(mutant)
    try:
        thrown_out = tree.compile(mutant)
        if thrown_out:
            return {"verdict": thrown_out}
        for patterns in (mutant_tests.concerned(tree.path, mutant.path), ["*"]):
            while (played := tests.play(patterns, dismissed)).failed:
                names = [name for name in played.failed if not name.startswith("(")]
                if not names or not tests.play(names, build=tree.unchanged_build()).failed:
                    return {"verdict": "caught", "by": played.failed, "hung": played.hung,
                            "again": not names or bool(tests.play(names).failed)}
                dismissed += names
                print(f"fails without the mutant too: {' '.join(names)}", flush=True)
                if len(dismissed) > MOST_DISMISSED:
                    raise Refused("the machine is too busy: too many tests fail without a mutant")
        return {"verdict": "survived"}
    finally:
        tree.restore()


def line_of(one):
    text = one["verdict"]
    if text == "caught":
        text = ("hung" if one["hung"] else "caught") + ("" if one["again"] else ", once of two")
    return (f"{text:22} {one['path']}:{one['line']}  {' '.join(one.get('by', [])[:3])}"
            f" ({one['seconds']:.0f} s)")


def report(session, revision):
    caught, survived = session.of("caught"), session.of("survived")
    for one in survived:
        print(f"\nsurvived: {one['path']}:{one['line']}\n- {one['before'].strip()}\n"
              f"+ {one['after'].strip()}")
    print(f"\nmutants of {revision[:12]}: {len(session.found)} drawn, "
          f"{len(session.of('does not compile'))} do not compile, "
          f"{len(session.of('same code'))} make the same code, {session.judged()} judged")
    print(f"{len(caught)} caught ({sum(one['hung'] for one in caught)} by a test that hung, "
          f"{sum(not one['again'] for one in caught)} once of two), {len(survived)} survived")
    print(f"all verdicts: {session.path}")


def only_session(folder):
    """Returns a file that stays locked while this session works in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = open(folder / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Refused(f"another session uses {folder}") from error
    return lock


def choose(given, tree, generator):
    """Returns the mutants in their order, how many of them to judge, and a name for the choice."""
    if given.again:
        earlier = pathlib.Path(given.again)
        survivors = Session(earlier).mutants_of("survived")
        mutants = list(mutant_choice.found_again(tree.path, survivors))
        print(f"{len(survivors)} have survived, the lines of {len(mutants)} are still there")
        return mutants, len(mutants), f"again-{earlier.stem}"
    found = mutant_choice.candidates(tree.path, generator)
    print(f"{sum(map(len, found.values()))} mutants of {len(found)} lines")
    return list(mutant_choice.drawn(found, given.seed)), given.count, f"seed-{given.seed}"


def play(given):
    generator = generator_of(given)
    folder = given.root / FOLDER
    with only_session(folder):
        revision = mutant_tree.git(given.root, "rev-parse", "HEAD")
        if mutant_tree.git(given.root, "status", "--porcelain", "--untracked-files=no"):
            print("changes that are not committed take no part")
        tree = mutant_tree.Tree(given.root, folder, revision)
        mutants, count, name = choose(given, tree, generator)
        session = Session(folder / f"{revision[:12]}-{name}.jsonl")
        for found, mutant in zip(session.found, mutants):
            if session.mutant_of(found) != mutant:
                raise Refused(f"{session.path} has other mutants: remove it")
            print(line_of(found))
        left = iter(mutants[len(session.found):])
        try:
            if session.judged() < count:
                tests = prepared_tests(given, folder, tree, revision)
                judge_all(tree, tests, session, left, count)
            if session.judged() < count:
                print("there are no more")
        except KeyboardInterrupt:
            print("the same command goes on")
        report(session, revision)


def judge_all(tree, tests, session, mutants, count):
    for mutant in mutants:
        start = time.monotonic()
        verdict = judge(tree, tests, mutant)
        session.add(mutant, {**verdict, "seconds": time.monotonic() - start})
        print(line_of(session.found[-1]), flush=True)
        if session.judged() == count:
            return


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # takes the mutant out, ends the tests
    try:
        play(arguments())
    except Refused as refused:
        sys.exit(f"mutants: {refused}")


if __name__ == "__main__":
    main()
