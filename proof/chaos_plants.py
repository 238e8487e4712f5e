"""Plants odd files in the directories of a log for proof/chaos.py. Each plant has its own random
generator, so a case can be repeated without some plants.

A plant says how it harms the log. NOTHING: the log's files are unchanged, so the log recovers in
full. NAMED: all acknowledged transactions are there, or a recovery names the loss. QUIET: bytes at
the end of the log are lost, which may look like a crash; only a history reveals this loss.
"""

import ctypes
import functools
import os
import random
import shlex
import shutil
import stat

from chaos_logs import copy_tree, files_under

NOTHING, NAMED, QUIET = range(3)
HUGE = [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**44, 2**63 // 2**20, 2**64 // 2**20, 2**63 - 1, 2**63,
        2**64 - 1, 2**64, 10**30]
PLANTS = {}
LIBRARY = ctypes.CDLL("libxxhash.so.0")
LIBRARY.XXH3_64bits.restype = ctypes.c_uint64
LIBRARY.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
NUMBERS = [0, 1, 2, 3, 7, 1023, 4096, 2**20 + 4096, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 4096,
           2**64 - 1, 2**64, -1]
LENGTHS = [0, 2, 4096, 2**20 + 4096, 2**32 - 1, 2**63, 2**64 - 4096]
# The headers of the log's files also have these values, so recovery notices a wrong manifest.
SHAPE = {"streams", "stripes", "stripe_bytes", "segment_bytes"}
OF_HEADER = {*SHAPE, "scheme", "log_records", "run", "log", "ordinal", "device"}
FLAGS = ["flag.csv=outside/new.csv", "flag.json=outside/precious", "flag.export=outside/new",
         "flag.flagfile=outside/precious", "flag.verify=false", "flag.accept_damage=true",
         "flag.export_history=outside/precious", "flag.wal_dir=outside/other/log0",
         "flag.checkpoint=end", "flag.history=outside/new", "flag.overwrite=true",
         "flag.threads=4000000000", "flag.ledger=keys:4000000000", "flag.ledger=keys:1",
         "flag.workload=micro-update", "flag.v=9", "flag.log_dir=outside"]


def plant(weight):
    """Registers a plant, and the weight with which a case chooses it."""
    def register(function):
        PLANTS[function.__name__] = (weight, function)
        return function
    return register


def shown(path):
    """Returns a path as a word of a shell, with unprintable bytes in an escaped form."""
    if path.isprintable():
        return shlex.quote(path)
    return "$'" + "".join(chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
                          for byte in os.fsencode(path)) + "'"


class Hand:
    """Changes a directory that contains `outside` and the log's directories, and records shell
    commands that make the same changes."""

    def __init__(self, log, place):
        self.log, self.place = log, place
        self.own = log.own(place)
        self.others = files_under(os.path.join(place, "outside", "other"))
        self.did = []
        self.harm = NOTHING
        self.kept = []  # paths of foreign files that every command must keep
        self.as_other = False
        self.rolled_back = False  # both manifests were restored; only later runs reveal this
        self.crafted = False  # a manifest may describe another log

    def path(self, name):
        return os.path.join(self.place, name)

    def note(self, *words):
        self.did.append(" ".join(words))

    def harms(self, path):
        self.harm = max(self.harm, QUIET if self.log.is_quiet(path) else NAMED)

    def clear(self, name):
        """Removes the entry at a name, and makes the name's parent directories."""
        path = self.path(name)
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            if os.path.lexists(parent):
                os.unlink(parent)
                self.note("rm", shown(os.path.dirname(name)))
            os.makedirs(parent)
            self.note("mkdir -p", shown(os.path.dirname(name)))
        if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):
            os.unlink(path)
            self.note("rm", shown(name))
        elif os.path.isdir(path):
            shutil.rmtree(path)
            self.note("rm -r", shown(name))

    def link(self, target, name):
        self.clear(name)
        os.symlink(target, self.path(name))
        self.note("ln -s", shown(target), shown(name))

    def hard_link(self, source, name):
        self.clear(name)
        os.link(self.path(source), self.path(name), follow_symlinks=False)
        self.note("ln", shown(source), shown(name))

    def write(self, name, data, words):
        self.clear(name)
        with open(self.path(name), "wb") as file:
            file.write(data)
        self.note(words, ">", shown(name))

    def copy(self, source, name):
        self.clear(name)
        if os.path.isdir(source):
            copy_tree(source, self.path(name))
        else:
            shutil.copyfile(source, self.path(name))
        self.note("cp -a", shown(os.path.relpath(source, self.place)), shown(name))

    def directory(self, name):
        self.clear(name)
        os.mkdir(self.path(name))
        self.note("mkdir", shown(name))

    def special(self, name, mode, device=0):
        self.clear(name)
        try:
            os.mknod(self.path(name), mode | 0o600, device)
        except PermissionError:  # only root can make a device node
            mode = stat.S_IFIFO
            os.mkfifo(self.path(name))
        what = {stat.S_IFIFO: "p", stat.S_IFSOCK: "s", stat.S_IFCHR: "c 1 5"}[mode]
        self.note("mknod", shown(name), what)


def make_outside(place, other):
    """Makes the files outside the log's directories, which no command may change."""
    outside = os.path.join(place, "outside")
    os.makedirs(os.path.join(outside, "folder"))
    for name, data in {"precious": b"nobody may change this\n", "zeros": bytes(2**16), "empty": b"",
                       "folder/notes": b"nor this\n"}.items():
        with open(os.path.join(outside, name), "wb") as file:
            file.write(data)
    os.chmod(os.path.join(outside, "precious"), 0o640)
    copy_tree(other, os.path.join(outside, "other"))


def directory_of(hand, draw):
    return draw.choice(hand.log.directories)


def outside_file(hand, draw):
    others = ["outside/other/" + name for name in hand.others]
    return draw.choice(["outside/precious", "outside/zeros", "outside/empty",
                        draw.choice(others) if others else "outside/precious"])


def wanted_name(hand, draw):
    """Chooses a name that a command uses or makes, and that the log does not contain."""
    directory = directory_of(hand, draw)
    last = max((int(name.rpartition("-")[2]) for name in hand.log.folders(hand.place)
                if name.rpartition("-")[2].isdecimal()), default=1)
    number = draw.choice([last, last + 1, last + 1, last + 2, 1, 0, 7, draw.choice(HUGE)])
    number = draw.choice([str(number)] * 5 + [f"0{number}", f"-{number}", f"+{number}",
                                             f" {number}", f"{number}x"])
    index = draw.choice([0, 1, 2, 3, 7, "00", "01", "x", "", draw.choice(HUGE)])
    name = draw.choice(["manifest.new", "manifest.new", "manifest.copy.new", "manifest", "id",
                        f"run-{number}", f"run-{number}", f"run-{number}/id",
                        f"run-{number}/stream-0.log.db", f"checkpoint-{number}",
                        f"checkpoint-{number}/rows-0", f"checkpoint-{number}/id",
                        f"stream-{draw.choice([0, 1, 2, 9, 64, 2**32, '00', '-1'])}.log.db",
                        f"stream-{draw.choice([0, 1])}.log.db.{index}", f"member-{number}",
                        "member-", "manifest.copy", "sync-method", "sync-method.new",
                        "logjam-dsync.tmp", "logjam-fdatasync.tmp"])
    name = f"{directory}/{name}"
    if any(own == name or own.startswith(name + "/") for own in hand.own):
        return f"{directory}/manifest.new"
    parent = os.path.dirname(name)
    if os.path.lexists(hand.path(parent)) and not os.path.isdir(hand.path(parent)):
        return f"{directory}/manifest.new"  # an earlier plant has the parent's name
    return name


def is_segment(name):
    base = os.path.basename(name).rpartition(".")
    return base[0].endswith(".log.db") and base[2].isdecimal() and str(int(base[2])) == base[2]


def put_thing(hand, draw, name):
    """Puts an entry at a name that is not a file of a log."""
    up = "../" * name.count("/")

    def link():
        target = draw.choice([outside_file(hand, draw)] * 4
                             + ["outside/folder", "outside/other/log0"])
        hand.link(draw.choice([up + target, hand.path(target)]), name)

    def full_directory():
        hand.directory(name)
        hand.write(f"{name}/notes", b"of somebody\n", "echo of somebody")

    empty = functools.partial(hand.write, name, b"", "true")
    things = [
        link, link, link, full_directory, empty,
        lambda: hand.link(up + draw.choice(["outside/new", "outside/folder/new", "outside/no/new"]),
                          name),
        lambda: hand.link(draw.choice([os.path.basename(name), ".", "..", up + name]), name),
        lambda: hand.hard_link(outside_file(hand, draw), name),
        lambda: hand.special(name, stat.S_IFIFO),
        lambda: hand.special(name, stat.S_IFSOCK),
        lambda: hand.special(name, stat.S_IFCHR, os.makedev(1, 5)),
        lambda: hand.directory(name),
        lambda: hand.write(name, b"text\n", "echo text"),
        lambda: hand.write(name, bytes(2**16), "head -c 65536 /dev/zero"),
        lambda: hand.copy(hand.path("outside/other/" + draw.choice(hand.others)), name)
        if hand.others else empty()]
    draw.choice(things)()


@plant(10)
def taken_name(hand, draw):
    """Puts an entry at a name where a command will make a file."""
    name = wanted_name(hand, draw)
    hand.clear(name)
    put_thing(hand, draw, name)
    if is_segment(name) or os.path.basename(name).startswith(("manifest", "member-")):
        hand.harm = max(hand.harm, NAMED)


@plant(4)
def links_in_the_next(hand, draw):
    """Puts links into the next run's or checkpoint's directory, at the names of its files."""
    directory = directory_of(hand, draw)
    for number in range(1, 5):
        for name, files in ((f"run-{number}", ("stream-0.log.db", "stream-1.log.db", "id")),
                            (f"checkpoint-{number}", ("rows-0", "rows-1", "id"))):
            if not os.path.lexists(hand.path(f"{directory}/{name}")):
                if draw.random() < 0.2:
                    hand.link(draw.choice(["../outside/folder", "../outside/other/log0"]),
                              f"{directory}/{name}")
                    continue
                for file in files:
                    if draw.random() < 0.7:
                        hand.link("../../" + outside_file(hand, draw), f"{directory}/{name}/{file}")


@plant(4)
def odd_name(hand, draw):
    """Puts an entry at a name with characters that must not reach a terminal."""
    name = draw.choice(["\x1b[2J\x1b]0;owned\x07", "\udcff\udcfe", "a\nlogjam: FAIL", "\x7f", "-rf",
                        "--overwrite", " ", "x" * 255, "stream-0.log.db.\udcc3", "run-2\n",
                        "checkpoint-\u0663", "manifest\r", ".manifest", "stream-\x1b[31m.log.db",
                        "run-\u00b2", "member-\x1b[2J", "{}", "$(touch owned)", "%s%n"])
    put_thing(hand, draw, f"{directory_of(hand, draw)}/{name}")


@plant(5)
def segment(hand, draw):
    """Adds a segment to a stream, with a number above the stream's last segment."""
    streams = [name for name in hand.own if name.endswith(".log.db")]
    if streams:
        stream = draw.choice(streams)
        length = max(os.path.getsize(hand.path(stream)), 4096)
        number = draw.choice([draw.randrange(1, 9), draw.randrange(1000), *HUGE[:-2],
                              2**64 // 2**20 // draw.choice([1, 2, 4]), 2**64 // length])
        name = f"{stream}.{number}"
        if name not in hand.own:
            hand.write(name, draw.choice([b"", b"", b"", bytes(4096), b"text\n"]), "true or so")
            hand.harm = max(hand.harm, NAMED)


@plant(3)
def notes(hand, draw):
    """Puts a user's files into the log's directory. No command may remove these files."""
    name = f"{directory_of(hand, draw)}/" + draw.choice(
        ["notes.txt", "run-9/notes", "checkpoint-9/notes", "rows-0", "run-x", "backup/manifest",
         "stream-0.log.db.bak", "run-99999999999999999999/notes"])
    if not os.path.lexists(hand.path(name.partition("/")[0] + "/" + name.split("/")[1])):
        hand.write(name, b"of somebody\n", "echo of somebody")
        hand.kept.append(name)


@plant(6)
def replaced(hand, draw):
    if hand.own:
        name = draw.choice(hand.own + hand.log.folders(hand.place))
        hand.harms(name)
        if name in hand.log.folders(hand.place):
            for own in hand.own:
                if own.startswith(name + "/"):
                    hand.harms(own)
        put_thing(hand, draw, name)


@plant(4)
def moved_out(hand, draw):
    """Moves a file or a directory of the log away. Leaves a symbolic link or a hard link to it."""
    if hand.own:
        name = draw.choice(hand.own + hand.log.folders(hand.place))
        away = "outside/" + name.replace("/", "-")
        if os.path.lexists(hand.path(away)):
            return
        if os.path.isfile(hand.path(name)) and draw.random() < 0.5:
            os.link(hand.path(name), hand.path(away))
            hand.note("ln", shown(name), shown(away))
        else:
            os.rename(hand.path(name), hand.path(away))
            hand.note("mv", shown(name), shown(away))
            hand.link("../" * name.count("/") + away, name)
            hand.harm = max(hand.harm, NAMED)


@plant(3)
def linked_copy(hand, draw):
    """Copies the log by hard links, as `cp -al` does."""
    for name in hand.own:
        os.makedirs(os.path.dirname(hand.path("outside/copy/" + name)), exist_ok=True)
        if not os.path.lexists(hand.path("outside/copy/" + name)):
            os.link(hand.path(name), hand.path("outside/copy/" + name))
    hand.note("mkdir outside/copy; cp -al", *hand.log.directories, "outside/copy")


@plant(6)
def damaged(hand, draw):
    """Cuts off, extends, zeroes, changes or removes one of the log's own files."""
    if not hand.own:
        return
    name = draw.choice(hand.own)
    hand.harms(name)
    path = hand.path(name)
    if not os.path.isfile(path) or os.path.islink(path):
        return
    size = os.path.getsize(path)
    how = draw.choice(["truncate", "extend", "zero", "flip", "remove", "header only"])
    if how in ("truncate", "extend", "header only"):
        length = {"truncate": draw.randrange(max(size, 1)), "header only": min(size, 4096),
                  "extend": size + draw.choice([1, 4096, 2**20, 2**23])}[how]
        os.truncate(path, length)
        hand.note(f"truncate -s {length}", shown(name))
    elif how == "remove":
        os.unlink(path)
        hand.note("rm", shown(name))
    else:
        with open(path, "r+b") as file:
            # Most of a file may be zeros, so half of the damages hit its beginning.
            at = draw.randrange(max(size, 1)) if draw.random() < 0.5 else draw.randrange(8192)
            file.seek(at)
            old = file.read(1 if how == "flip" else 512)
            file.seek(at)
            file.write(bytes(len(old)) if how == "zero" else bytes(byte ^ 16 for byte in old))
        hand.note(f"{how} {len(old)} bytes at {at} of", shown(name))


@plant(3)
def swapped(hand, draw):
    if len(hand.own) > 1:
        one, two = draw.sample(hand.own, 2)
        if os.path.lexists(hand.path(one)) and os.path.lexists(hand.path(two)):
            hand.harms(one)
            hand.harms(two)
            os.rename(hand.path(one), hand.path("kept"))
            os.rename(hand.path(two), hand.path(one))
            os.rename(hand.path("kept"), hand.path(two))
            hand.note("swap", shown(one), shown(two))


@plant(5)
def earlier(hand, draw):
    """Restores a file, the manifests, or the whole log from the end of an earlier life."""
    if not hand.log.stages:
        return
    stage = draw.choice(hand.log.stages)
    files = files_under(stage)
    manifests = [name for name in files if os.path.basename(name).startswith("manifest")]
    how = draw.choice(["file", "manifests", "manifests", "manifest", "all"])
    if how == "all":
        hand.harm = QUIET
        for directory in hand.log.directories:
            hand.copy(os.path.join(stage, directory), directory)
        return
    hand.rolled_back = how == "manifests"
    for name in {"file": [draw.choice(files)], "manifests": manifests,
                 "manifest": [draw.choice(manifests)]}[how]:
        hand.harms(name)
        hand.copy(os.path.join(stage, name), name)


@plant(3)
def of_another(hand, draw):
    """Replaces a file or the manifests of the log by those of another log."""
    if hand.others and hand.own:
        names = [draw.choice(hand.others)] if draw.random() < 0.6 else [
            "log0/manifest", "log0/manifest.copy"]
        for name in names:
            own = name if name in hand.own else draw.choice(hand.own)
            hand.harms(own)
            hand.copy(hand.path("outside/other/" + name), own)


@plant(2)
def unreadable(hand, draw):
    """Removes the other user's right to read or to change a file or a directory."""
    if not hand.own:
        return
    hand.as_other = True
    name = draw.choice(hand.own + hand.log.folders(hand.place) + hand.log.directories)
    if os.path.lexists(hand.path(name)) and not os.path.islink(hand.path(name)):
        mode = draw.choice([0, 0o400, 0o555, 0o200])
        hand.harm = max(hand.harm, NAMED)
        os.chmod(hand.path(name), mode)
        hand.note(f"chmod {mode:o}", shown(name), "# and the commands run as another user")


def checksum_of(text):
    """Returns the XXH3-64 checksum, the last field of a manifest and of a header."""
    return LIBRARY.XXH3_64bits(text, len(text))


def crafted_line(hand, draw, lines):
    """Changes or adds a line of a manifest or a header. Returns a description of the change."""
    if len(lines) == 1:  # earlier changes have removed all other lines
        lines.append("run.run=1")
    shaping = [at for at, line in enumerate(lines)
               if line.partition("=")[0].removeprefix("run.") in SHAPE]
    at = draw.choice(shaping) if shaping and draw.random() < 0.4 else draw.randrange(1, len(lines))
    key, _, value = lines[at].partition("=")
    part, _, name = key.rpartition(".")
    prefix = f"{part}." if part in ("run", "checkpoint") else ""
    how = draw.randrange(6)
    if how == 0:
        lines.insert(len(lines), f"{'run.' if lines[0].startswith('logjam manifest') else ''}"
                                 f"{draw.choice(FLAGS)}")
        hand.harm = QUIET  # the added flag may identify the log
        return lines[-1]
    if how == 1:
        ids = [line.partition("=")[2] for line in lines if line.startswith(("run.run=",
                                                                            "checkpoint.id="))]
        known = draw.choice(ids or ["1"])
        line = draw.choice(
            [f"removable=run 1 {known}", f"removable=run 1 {known}",
             f"removable=run {draw.choice(NUMBERS)} {known}", "removable=run ../outside 1",
             f"removable=checkpoint {draw.choice([1, 2, 3, 7])} {known}",
             "checkpoint.file=../../outside/precious 24 1 0"])
        lines.insert(draw.randrange(1, len(lines) + 1), line)
        hand.harm = QUIET
        return line
    if how == 2:
        del lines[at]
        hand.harm = QUIET
        return f"without {key}"
    if name in OF_HEADER and prefix != "checkpoint.":
        hand.harm = max(hand.harm, NAMED)
    else:
        hand.harm = QUIET
    numbers = value.split()
    if name in SHAPE and draw.random() < 0.8:
        lines[at] = f"{key}={draw.choice(LENGTHS)}"
        return lines[at]
    changed = draw.choice([str(draw.choice(NUMBERS)), "\x1b[2J", "../../outside/precious", "",
                           str(draw.choice(NUMBERS)), str(draw.choice(NUMBERS))])
    if numbers:
        numbers[draw.randrange(len(numbers))] = changed
    lines[at] = f"{key}={' '.join(numbers) or changed}"
    return lines[at]


@plant(6)
def crafted(hand, draw):
    """Changes values of the manifest, its copy or a header, and makes the checksum right again."""
    manifests = [name for name in hand.own if os.path.basename(name).startswith("manifest")]
    headers = [name for name in hand.own if name.endswith(".log.db")]
    if not manifests or not headers:
        return
    names = draw.choice([manifests, manifests, manifests, [draw.choice(headers)],
                         [draw.choice(manifests)]])
    seed = draw.randrange(2**32)
    hand.crafted = True
    if hand.did:  # an earlier plant may have changed the files that contradict the values
        hand.harm = QUIET
    for name in names:
        path = hand.path(name)
        if not os.path.isfile(path) or os.path.islink(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        text, end, rest = data.partition(b"\nend ")
        if not end:
            continue
        lines = text.decode(errors="surrogateescape").split("\n")
        of_line = random.Random(seed)
        words = " and ".join(crafted_line(hand, of_line, lines)
                             for _ in range(of_line.choice([1, 1, 1, 2])))
        if name in headers:
            hand.harms(name)
        text = ("\n".join(lines) + "\n").encode(errors="surrogateescape")
        block = text + b"end %x\n" % checksum_of(text)
        if name in headers:
            block = block.ljust(4096, b"\0") + data[4096:]
        with open(path, "wb") as file:
            file.write(block)
        hand.note(f"change {shown(name)}, with a right checksum: {shown(words)}")
