"""Runs logjam's commands in a harmed directory for proof/chaos.py, and judges the results."""

import dataclasses
import os
import re
import shutil
import signal
import stat
import subprocess
import time
import typing
import unicodedata

import rounds
from chaos_logs import acknowledged
from chaos_plants import NAMED, NOTHING, checksum_of, copy_tree, outside_file, put_thing, shown

NOBODY = 65534
DIAGNOSTIC = re.compile(r"[IW]\d{8} ")
TRACE = re.compile(r"stack trace|terminate called|\*\*\* Aborted|PC: @|AddressSanitizer|"
                   r"runtime error")
EMPTY = ("outside/empty", "outside/new", "outside/folder/new")
STATUSES = {0, 2, 3, 4}


def entry_of(path):
    """Returns the entry at a path: its type, its mode, and its bytes or the target of its link."""
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return kind, os.readlink(path)
    if kind != stat.S_IFREG:
        return kind, status.st_mode, status.st_rdev
    with open(path, "rb") as file:
        return kind, status.st_mode, status.st_size, checksum_of(file.read())


def tree_of(top, left_out=()):
    """Maps the relative paths of all entries under a directory to the entries."""
    entries = {}
    for folder, folders, names in os.walk(top):
        if folder == top:
            folders[:] = [name for name in folders if name not in left_out]
        for name in folders + names:
            path = f"{folder}/{name}"
            entries[path[len(top) + 1:]] = entry_of(path)
    return entries


def differences(before, after):
    return ([f"{shown(name)} is gone" for name in sorted(before.keys() - after.keys())]
            + [f"{shown(name)} is new" for name in sorted(after.keys() - before.keys())]
            + [f"{shown(name)} was changed" for name in sorted(before.keys() & after.keys())
               if before[name] != after[name]])


@dataclasses.dataclass
class Done:
    words: list
    status: typing.Optional[int]  # None: the command did not end
    out: str = ""
    err: str = ""
    broken: list = dataclasses.field(default_factory=list)

    def text(self):
        how = "no end" if self.status is None else f"status {self.status}"
        return f"logjam {' '.join(map(shown, self.words))}  # {how}\n{self.out}{self.err}"


def ended(words, status, out, err):
    """Returns how a command ended, and which of the rules for all commands it violated."""
    texts = [text.decode(errors="surrogateescape") for text in (out, err)]
    done = Done(words, status, *texts)
    if status is None:
        done.broken.append(("hang", "it did not end"))
        return done
    if status < 0:
        done.broken.append(("signal", signal.Signals(-status).name))
    elif status not in STATUSES:
        done.broken.append(("status", f"status {status}"))
    if TRACE.search(texts[0] + texts[1]):
        done.broken.append(("trace", "a stack trace"))
    errors = [line for line in texts[1].splitlines() if line and not DIAGNOSTIC.match(line)
              and not line.startswith("note: ")]
    if len(errors) > 1:
        done.broken.append(("words", f"{len(errors)} lines of error"))
    said = [line for line in errors if line.removeprefix("logjam:").strip()]
    if status > 0 and not said and "FAIL" not in texts[0]:
        done.broken.append(("words", "not a word of error"))
    if any(unicodedata.category(one) in ("Cc", "Cs") and one not in "\n\t"
           for one in set(texts[0] + texts[1])):
        done.broken.append(("terminal", "control characters or invalid UTF-8"))
    return done


class Judge:
    """Runs commands in a directory, and records the rules that they violate."""

    def __init__(self, logjam, hand, patience):
        self.logjam, self.hand, self.log = logjam, hand, hand.log
        self.patience = patience
        self.place = hand.place
        self.wal_dir = f"--wal_dir={','.join(self.log.directories)}"
        self.found = []  # pairs of a kind and a text
        self.played = []
        self.runs = 0
        self.replaced = False  # another log has replaced the log, or a loss was accepted
        self.moved_by = ""
        self.outputs = set()  # names of earlier commands' outputs, which commands may replace
        self.says_lost = False  # the last recovery with the history has ended with status 4
        self.outside = self._tree_outside()
        hand.kept = [name for name in hand.kept if self._is_kept(name)]

    def _tree_outside(self):
        own = [*self.log.directories, "moving", "moved"]
        return {name: entry for name, entry in tree_of(self.place, own).items()
                if not name.startswith(("history", "new-history", *own))}

    def tree_inside(self):
        return {f"{directory}/{name}": entry for directory in self.log.directories
                for name, entry in tree_of(os.path.join(self.place, directory)).items()}

    def end(self, process, words, seconds):
        """Waits for a command, and checks the rules for every command."""
        self.runs += 1
        try:
            out, err = process.communicate(timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            status = None
        done = ended(words, status, out, err)
        self.played.append(done)
        for kind, what in done.broken:
            self.find(kind, what)
        return done

    def begin(self, words):
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if (
            self.hand.as_other and os.geteuid() == 0) else {}
        # The other user may not be allowed to enter the parent directories. The program lies beside
        # the case, so a relative path reaches it. No plant closes the case's own directory.
        program = os.path.relpath(self.logjam, self.place)
        return subprocess.Popen([program, *words], cwd=self.place, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **other)

    def command(self, words, named=False):
        """Runs a command, and checks that it changes nothing outside. `named`: the command line
        names outputs, so the command may fill an empty file at the end of a link."""
        with self.begin(words) as process:
            done = self.end(process, words, self.patience)
        self.find_outside(EMPTY if named else ())
        for name in self.hand.kept:
            if not self._is_kept(name):
                self.find("foreign", f"{shown(name)} is not what it was")
        return done

    def find_outside(self, allowed=()):
        """Compares the files outside the log's directories with their earlier state."""
        now = self._tree_outside()
        changed = [how for how in differences(self.outside, now)
                   if not how.startswith(tuple(f"{name} " for name in allowed))]
        if changed:
            self.find("outside", "; ".join(changed))
        self.outside = now

    def look_again(self):
        """Saves the state of the files outside, after another plant has changed them."""
        self.outside = self._tree_outside()

    def _is_kept(self, name):
        try:
            with open(os.path.join(self.place, name), "rb") as file:
                return file.read() == b"of somebody\n"
        except OSError:
            return False

    def find(self, kind, what):
        self.found.append((kind, what))

    def is_whole(self, history="history", least=None):
        """Returns whether a recovery with the history finds all acknowledged transactions."""
        done = self.command(["recover", self.wal_dir, f"--history={history}", "--threads=1"])
        self.says_lost = done.status == 4
        if done.status != 0:
            return False
        count = acknowledged(done.out)
        if count is None or count < (self.log.acknowledged if least is None else least):
            self.find("unjudged", f"status 0, {count} acknowledged, not {self.log.acknowledged}")
        return True

    def was_whole(self):
        """Returns whether all acknowledged transactions are there, as in every unharmed log."""
        if self.hand.harm == NOTHING:
            return self.log.lives > 0
        return self.log.lives > 0 and self.is_whole()

    def read(self, words):
        """Runs a command that changes nothing in the log's directories."""
        before = self.tree_inside()
        done = self.command(words)
        changed = differences(before, self.tree_inside())
        if changed:
            self.find("changed", "; ".join(changed))
        return done


def merged(judge):
    return [] if judge.log.scheme == "command" else ["--replay=merge"]


def recover(judge, draw):
    """Recovers without the history. The recovery must name a loss unless the loss looks like the
    effect of a crash."""
    accept = draw.random() < 0.2
    words = ["recover", judge.wal_dir, *(["--accept_damage"] if accept else []),
             *draw.choice([[], [], merged(judge), ["--threads=1"]])]
    done = judge.read(words)
    if not judge.log.lives:
        return
    harm = judge.hand.harm
    if harm == NOTHING and done.status != 0:
        judge.find("refused", f"status {done.status} of a log that is whole")
    named = harm == NAMED or (harm == NOTHING and draw.random() < 0.3)
    if done.status == 0 and named and not (accept and "WARNING" in done.out + done.err):
        if not judge.is_whole() and (judge.says_lost or not judge.hand.crafted):
            judge.find("lost", "status 0, and something acknowledged is missing")


def recover_by_history(judge, draw):
    words = ["recover", judge.wal_dir, "--history=history",
             *draw.choice([[], ["--accept_damage"], merged(judge)])]
    if not judge.log.lives:
        words = words[:2]
    done = judge.read(words)
    if judge.log.lives and judge.hand.harm == NOTHING and done.status != 0:
        judge.find("refused", f"status {done.status} of a log that is whole")
    if judge.log.lives and done.status == 0 and "--accept_damage" not in words:
        if (acknowledged(done.out) or 0) < judge.log.acknowledged:
            judge.find("unjudged", f"status 0, {acknowledged(done.out)} acknowledged")


def is_fifo(path):
    return os.path.lexists(path) and stat.S_ISFIFO(os.lstat(path).st_mode)


def output_name(judge, draw, history=False):
    """Chooses a path for an output, and may put a foreign entry there. Only a history may get a
    FIFO: other outputs would wait until a program reads the FIFO."""
    hand = judge.hand
    directory = draw.choice(judge.log.directories)
    how = draw.randrange(6)
    if how == 0 and hand.own:
        return draw.choice(hand.own)
    if how == 1:
        return draw.choice(["outside/precious", "outside/zeros", "outside/other/log0/manifest"])
    name = f"{directory}/out"
    if how > 2 and os.path.isdir(hand.path(directory)):
        put_thing(hand, draw, name)
        judge.outputs.discard(name)
        if is_fifo(hand.path(name)) and not history:
            hand.clear(name)
        if draw.random() < 0.3:
            put_thing(hand, draw, f"{name}.new")
        judge.look_again()
    return name


def foreign_at(judge, names):
    """Maps output paths to the foreign entries there, which the command must not replace. A command
    may write to an empty file, and may replace a link without a target."""
    there = {name: judge.hand.path(name) for name in names
             if name.endswith("/out") and name not in judge.outputs}
    return {name: entry_of(path) for name, path in there.items()
            if os.path.exists(path) and (not os.path.isfile(path) or os.path.getsize(path))}


def check_foreign(judge, before):
    judge.outputs.update(f"{directory}/out" for directory in judge.log.directories
                         if not before.get(f"{directory}/out"))
    for name, entry in before.items():
        path = judge.hand.path(name)
        if not os.path.lexists(path) or entry_of(path) != entry:
            judge.find("foreign", f"an output has replaced {shown(name)}")


def recover_with_output(judge, draw):
    """Recovers with outputs at paths where a file may already be."""
    name = output_name(judge, draw)
    flag = draw.choice(["csv", "json", "csv", "json", "export", "export_history"])
    if flag == "export":
        name = f"{draw.choice(judge.log.directories)}/exported"
        for table in ("ledger", "entries", "cells", "slots"):
            if draw.random() < 0.5 and os.path.isdir(judge.hand.path(name.partition("/")[0])):
                judge.hand.link(f"../../{outside_file(judge.hand, draw)}", f"{name}/{table}.csv")
        judge.look_again()
    whole = judge.was_whole()
    before = foreign_at(judge, [name])
    judge.command([draw.choice(["recover", "recover", "dump"]) if flag in ("csv", "json") else
                   "recover", judge.wal_dir, f"--{flag}={name}",
                   *(["--history=history"] if flag == "export_history" else [])], named=True)
    check_foreign(judge, before)
    if whole and not judge.is_whole():
        judge.find("harmed", f"the log was whole before --{flag}")


def writer(judge, words):
    """Runs a command that changes the log and must keep its transactions. Returns how the command
    ended, and whether a transaction was lost before the command."""
    whole = judge.was_whole()
    was_lost = judge.log.lives and judge.says_lost and not judge.hand.crafted
    done = judge.command(words)
    if whole and not judge.is_whole():
        judge.find("harmed", f"the log was whole before {' '.join(words[:2])}")
    return done, was_lost


def continue_run(judge, draw):
    flags = [flag for flag in judge.log.flags if not flag.startswith("--wal_dir")]
    words = ["run", *flags, judge.wal_dir, "--continue", "--history=history",
             *(["--checkpoint=s:0.01"] if judge.log.scheme != "command" and draw.random() < 0.3
               else [])]
    done, was_lost = writer(judge, words)
    if done.status == 0 and was_lost:
        judge.find("lost", "a run has continued a log that is not whole")


def recover_and_checkpoint(judge, draw):
    accept = draw.random() < 0.2
    writer(judge, ["recover", judge.wal_dir, "--checkpoint",
                   *(["--accept_damage"] if accept else [])])
    judge.replaced = judge.replaced or accept  # a later loss was accepted


def trim(judge, _):
    writer(judge, ["trim", judge.wal_dir])


def new_run(judge, draw):
    """Begins a new log. logjam must refuse if there is a log, unless --overwrite is given."""
    history = "new-history"
    foreign = draw.random() < 0.25
    if foreign:
        history = output_name(judge, draw, history=True)
    words = ["run", *judge.log.flags, f"--history={history}"]
    if draw.random() < 0.6:
        words.append("--overwrite")
    if foreign:
        other = draw.choice(["cdf", "timeline", "csv", "json", ""])
        if other and not is_fifo(judge.hand.path(history)):
            words.append(f"--{other}={output_name(judge, draw)}")
    whole = "--overwrite" not in words and judge.was_whole()
    before = foreign_at(judge, [word.partition("=")[2] for word in words])
    done = judge.command(words, named=foreign)
    check_foreign(judge, before)
    judge.replaced = "--overwrite" in words or not whole
    if done.status == 0:
        if judge.log.lives and "--overwrite" not in words and judge.hand.harm == NOTHING:
            judge.find("harmed", "a log was replaced without --overwrite")
        elif not foreign and not judge.is_whole(history, 100):
            judge.find("lost", "the new log has not all that was acknowledged")
    elif whole and not judge.is_whole():
        judge.find("harmed", "the log was whole before a run that was refused")


def dump(judge, draw):
    judge.read(["dump", judge.wal_dir, *draw.choice([
        [], [], ["--range=run:1"], ["--range=run:2,from:3,count:5"],
        ["--range=run:18446744073709551615"], ["--dependencies=/dev/null"]])])


COMMANDS = {recover: 8, recover_by_history: 4, recover_with_output: 3, recover_and_checkpoint: 4,
            trim: 4, continue_run: 3, new_run: 3, dump: 4}

# Rows have 4000 bytes, so that the run begins several segments.
RUN = ["run", "--workload=ycsb", "--ycsb_records=50", "--ycsb_value_bytes=4000", "--ycsb_ops=2",
       "--ycsb_ratios=read:0.3", "--threads=1", "--warmup=0", "--worker_class=normal",
       "--log_buffer_mb=2", "--log_prealloc_mb=1:1", "--history_mb=8"]


def move_and_run(judge, place, _):
    """Begins a second run at the first run's path, after the first directory was moved away."""
    move_alone(judge, place)
    words = [*RUN, "--rate=2500", "--seconds=0.4", "--wal_dir=moving", "--history=new-history-2"]
    judge.hand.note("logjam", *words)
    return judge.begin(words), words


def move_alone(judge, place, _=None):
    os.rename(f"{place}/moving", f"{place}/moved")
    judge.hand.note("mv moving moved")


def move_and_make(judge, place, _):
    move_alone(judge, place)
    os.mkdir(f"{place}/moving")
    judge.hand.note("mkdir moving")


def move_and_link(judge, place, draw):
    move_alone(judge, place)
    target = draw.choice(["outside/folder", "outside/other/log0", "moved"])
    os.symlink(target, f"{place}/moving")
    judge.hand.note(f"ln -s {target} moving")


def move_and_copy(judge, place, _):
    move_alone(judge, place)
    copy_tree(f"{place}/moved", f"{place}/moving")
    judge.hand.note("cp -a moved moving")


def plant_links(judge, place, draw):
    """Puts links and FIFOs, again and again, at the paths of the run's next files."""
    names = ["manifest.new", "run-2", "checkpoint-1", "checkpoint-2",
             *(f"stream-0.log.db.{index}" for index in range(2, 9))]
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        name = f"{place}/moving/{draw.choice(names)}"
        try:
            if draw.random() < 0.8:
                os.symlink(os.path.join(place, outside_file(judge.hand, draw)), name)
            else:
                os.mknod(name, stat.S_IFIFO | 0o600)
        except OSError:
            time.sleep(0.001)
    judge.hand.note("links and FIFOs at", *names)


def remove(judge, place, _):
    shutil.rmtree(f"{place}/moving", ignore_errors=True)
    judge.hand.note("rm -r moving")


KINDS = {move_and_run: 3, move_alone: 1, move_and_make: 1, move_and_link: 1, move_and_copy: 1,
         plant_links: 2, remove: 0.5}


def play_move(judge, draw):
    """Begins a run, and moves, replaces or fills its directory with links during the run."""
    place, kind = judge.place, draw.choices(list(KINDS), list(KINDS.values()))[0]
    words = [*RUN, "--rate=2500", f"--seconds={draw.choice([0.4, 0.6])}", "--wal_dir=moving",
             "--history=new-history", f"--log={draw.choice(['centr', 'pwal', 'tide', 'poplar'])}",
             *(["--checkpoint=s:0.05"] if draw.random() < 0.4 or kind is plant_links else [])]
    judge.hand.note("logjam", *map(shown, words), "&")
    judge.moved_by = kind.__name__
    process = judge.begin(words)
    patience = time.monotonic() + judge.patience
    while process.poll() is None and time.monotonic() < patience and not (
            rounds.has_begun(f"{place}/new-history")):
        time.sleep(0.002)
    pause = draw.uniform(0, 0.2)
    time.sleep(pause)
    judge.hand.note(f"sleep {pause:.3f}")
    is_running = process.poll() is None and os.path.isdir(f"{place}/moving")
    second = kind(judge, place, draw) if is_running else None
    judge.end(process, words, judge.patience + 1)

    def recovers(directory, history):
        words = ["recover", f"--wal_dir={directory}", f"--history={history}"]
        return judge.command(words).status == 0

    if second:
        done = judge.end(*second, judge.patience + 1)
        if done.status == 0 and not recovers("moving", "new-history-2"):
            judge.find("lost", "the second run has lost what it acknowledged")
    for directory in ("moved", "moving"):
        path = f"{place}/{directory}"
        if kind not in (remove, plant_links) and os.path.isdir(path) and not os.path.islink(path):
            if not recovers(directory, "new-history"):
                judge.find("lost", f"the first run has lost what it acknowledged ({kind.__name__})")
            break
    judge.find_outside()
