"""What proof/chaos.py plants inside manifests and headers: odd values, under a right checksum,
which is no secret."""

import ctypes
import os
import random

from chaos_plants import NAMED, QUIET, plant, shown

LIBRARY = ctypes.CDLL("libxxhash.so.0")
LIBRARY.XXH3_64bits.restype = ctypes.c_uint64
LIBRARY.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
NUMBERS = [0, 1, 2, 3, 7, 1023, 4096, 2**20 + 4096, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 4096,
           2**64 - 1, 2**64, -1]
LENGTHS = [0, 2, 4096, 2**20 + 4096, 2**32 - 1, 2**63, 2**64 - 4096]
# The headers of the log's files say these, too, so a manifest with another value is found out.
SHAPE = {"streams", "stripes", "stripe_bytes", "segment_bytes"}
OF_HEADER = {*SHAPE, "scheme", "log_records", "run", "log", "ordinal", "device"}
FLAGS = ["flag.csv=outside/new.csv", "flag.json=outside/precious", "flag.export=outside/new",
         "flag.flagfile=outside/precious", "flag.verify=false", "flag.accept_damage=true",
         "flag.export_history=outside/precious", "flag.wal_dir=outside/other/log0",
         "flag.checkpoint=end", "flag.history=outside/new", "flag.overwrite=true",
         "flag.threads=4000000000", "flag.ledger=keys:4000000000", "flag.ledger=keys:1",
         "flag.workload=micro-update", "flag.v=9", "flag.log_dir=outside"]


def checksum_of(text):
    """Returns XXH3-64, which ends a manifest and a header."""
    return LIBRARY.XXH3_64bits(text, len(text))


def crafted_line(hand, draw, lines):
    """Changes a line of a manifest or a header, or adds one. Returns the change in words."""
    if len(lines) == 1:  # earlier changes have left the first line alone
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
        hand.harm = QUIET  # such a flag may say which log it is
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
    if hand.did:  # what it contradicts may be of an earlier plant
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
