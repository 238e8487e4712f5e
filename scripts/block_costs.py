#!/usr/bin/python3
"""Computes the instructions that each basic block of the simulated build would have without its
instrumentation: usage: block_costs.py BINARY OUT

The compiler puts a call of __sanitizer_cov_trace_pc into each basic block. The runtime charges the
block at this call, with the price that OUT has at the call's return address. OUT is binary, little
endian: "LJBLOCK1"; four uint64: the begin of .text, its length in bytes, the length of BINARY's
file, the first 8 bytes of its build id; then one byte for each byte of .text. The byte at a call's
return address is the price of the call's block in instructions (at most 255). All other bytes are
0. If the call is a jump at a function's end, it returns elsewhere, and must find 0 there.

These rules remove the instructions of the instrumentation:
- the calls of the instrumentation, and the instructions that set up their arguments, are free;
  but a call that replaces an atomic operation counts as one instruction;
- an instruction is free if it computes an address for such a call, and keeps it for the access;
- in a function without other calls, the instructions that make and end its frame are free;
- a move into a register or to the frame counts MOVE, and a saved register SAVE. The calls clobber
  registers, so the compiler saves, copies and loads more values, and a value loaded before a call
  cannot be an operand of a later instruction. A move into another call's argument counts 1.
Divisions, square roots and `rep` instructions count EXPENSIVE.

MOVE and SAVE are fitted to callgrind's counts of each function, in builds without instrumentation
(-O2 and -O3) of six workloads. Functions with 78 % of the executed instructions (-O3: 75 %) have a
computed price within 10 % of the count; functions with 93 % (-O3: 91 %) have one within 20 %. The
computed price of a transaction is within 5 % of the count in eleven of the twelve cases. In the
twelfth case (ycsb, -O3) it is 14 % too high, because the compiler vectorizes a loop that it cannot
vectorize if the loop has calls.

A few machine blocks have no call, because the compiler made them later. Their cost is charged to
the block before them, as if each side of a branch was taken equally often.
"""

import re
import struct
import subprocess
import sys

from experiments import files
from experiments.errors import Refused, end_with_usage

MAGIC = b"LJBLOCK1"
TRACE = "<__sanitizer_cov_trace_pc>"
EXPENSIVE = 20.0
MOVE, SAVE = 0.55, 0.75
MOST = 255

NAMES = {"rdi": "rdi edi dil", "rsi": "rsi esi sil", "rdx": "rdx edx dl", "rcx": "rcx ecx cl",
         "r8": "r8 r8d r8b", "r9": "r9 r9d r9b"}
ARGUMENT = {f"%{name}": register for register, names in NAMES.items() for name in names.split()}
ACCESS, RANGE = {"rdi"}, {"rdi", "rsi"}
READ_MODIFY_WRITE, COMPARE_EXCHANGE = RANGE | {"rdx"}, set(NAMES) - {"r9"}
KEPT_BY_CALLS = {"%rbx", "%r12", "%r13", "%r14", "%r15"}

PREFIX = re.compile(r"(?:(?:lock|notrack|bnd|data16|cs|xacquire|xrelease) +)+")
FRAME_SLOT = re.compile(r"-?(?:0x[0-9a-f]+)?\(%r[bs]p\)")
NO_PRICE = re.compile(r"nop|endbr64|data16|xchg +%ax,%ax")
EXPENSIVE_NAME = re.compile(r"i?div[bwlq]?$|v?(div|sqrt)[sp][sd]$|rep")


class Instruction:
    """An instruction in a disassembly, independent of its address."""

    __slots__ = ("price", "name", "operands", "source", "to", "target", "ends", "goes_on",
                 "calls", "leaves", "trace", "arguments", "sets", "makes_frame")

    def __init__(self, text):
        text = PREFIX.sub("", text)
        self.name, _, operands = text.partition(" ")
        self.operands = operands = operands.strip()
        self.source, _, self.to = operands.rpartition(",")
        jump = self.name[0] == "j"
        self.target = int(operands.split()[0], 16) if jump and operands[0] != "*" else None
        self.ends = jump or self.name in ("ret", "ud2", "hlt")
        self.goes_on = not self.ends or jump and self.name != "jmp"
        self.calls = self.name == "call"
        self.leaves = self.name == "jmp" and "+0x" not in operands  # to another function
        self.trace = self.calls and operands.endswith(TRACE)
        self.arguments = self._arguments()
        self.sets = ARGUMENT.get(self.to)
        self.makes_frame = (self.name in ("push", "pop", "leave") or self.to == "%rsp" or
                            operands == "%rsp,%rbp")
        self.price = self._price(text)

    def _arguments(self):
        """Returns the argument registers of this call of the instrumentation (or jump to it)."""
        if not (self.calls or self.name == "jmp"):
            return None
        function = self.operands.partition(" ")[2]
        if function == TRACE or function.startswith("<__tsan_ignore"):
            return set()
        if not function.startswith("<__tsan_"):
            return None
        if "compare_exchange" in function:
            return COMPARE_EXCHANGE
        if "_range" in function or "vptr_update" in function or function.endswith("_load>"):
            return RANGE
        return READ_MODIFY_WRITE if "atomic" in function else ACCESS

    def _price(self, text):
        if self.arguments is not None:
            atomic = "atomic" in self.operands and "signal" not in self.operands
            return float(atomic) + (0 if self.calls else 1)  # a jump is also the function's return
        if NO_PRICE.match(text):
            return 0.0
        if EXPENSIVE_NAME.match(self.name):
            return EXPENSIVE
        if self.name in ("push", "pop"):
            return SAVE
        return MOVE if self.is_move() else 1.0

    def is_move(self):
        return self.name.startswith(("mov", "vmov")) and (
            self.to[:1] == "%" and self.source[:1] != "$" or bool(FRAME_SLOT.fullmatch(self.to)))


def functions(lines):
    """Yields the (address, Instruction) pairs of each function in objdump's text with a TRACE."""
    known, body, instrumented = {}, [], False
    for line in lines:
        address, tab, text = line.partition(":\t")
        if not tab:
            if instrumented:
                yield body
            body, instrumented = [], False
            continue
        text = text.partition("#")[0].rstrip()
        made = known.get(text)
        if made is None:
            made = known[text] = Instruction(text)
        instrumented = instrumented or made.trace
        body.append((int(address, 16), made))
    if instrumented:
        yield body


def prices(body):
    """Returns the price of each instruction in a build without instrumentation."""
    body = [each for _, each in body]
    price = [each.price for each in body]
    leaf = not any(each.calls and each.arguments is None for each in body)
    for at, each in enumerate(body):
        if each.arguments:
            set_up(body, at, price)
        elif each.arguments is None and (each.calls or each.leaves):
            for before in stretch(body, at):
                if body[before].sets and body[before].is_move() and price[before]:
                    price[before] = 1.0
        elif leaf and each.makes_frame:
            price[at] = 0.0
    return price


def stretch(body, at):
    """Returns the instructions before `at`, backwards, up to another call or a jump."""
    for before in range(at - 1, -1, -1):
        if body[before].calls or body[before].ends:
            return
        yield before


def set_up(body, at, price):
    """Sets the price 0 for the instructions that set up the arguments of the call body[at]."""
    missing = set(body[at].arguments)
    for before in stretch(body, at):
        each = body[before]
        if each.sets in missing:
            missing.discard(each.sets)
            price[before] = 0.0
            if each.sets == "rdi" and each.name == "mov" and each.source[:1] == "%":
                address_made(body, before, at, price)
        if not missing:
            return


def address_made(body, copied, at, price):
    """Sets the price 0 for the instruction that computes an address, if an access uses it."""
    register = body[copied].source
    for before in range(copied - 1, max(-1, copied - 60), -1):
        each = body[before]
        if each.ends or each.calls and register not in KEPT_BY_CALLS:
            return
        if each.to == register:
            break
    else:
        return
    if each.name == "lea" and any(each.source in access.operands for access in body[at + 1:at + 9]):
        price[before] = 0.0
    for kept in range(before, at):
        if body[kept].source == register and FRAME_SLOT.fullmatch(body[kept].to):
            price[kept] = 0.0


def blocks(body):
    """Returns [first, past the last, numbers of the successors] of each machine block."""
    index = {address: at for at, (address, _) in enumerate(body)}
    begins = {0}
    for at, (_, each) in enumerate(body):
        if each.ends:
            begins.add(at + 1)
            begins.add(index.get(each.target, 0))
    begins.discard(len(body))
    begins = sorted(begins)
    number = {begin: which for which, begin in enumerate(begins)}
    made = []
    for which, begin in enumerate(begins):
        past = begins[which + 1] if which + 1 < len(begins) else len(body)
        last = body[past - 1][1]
        follow = [number[index[last.target]]] if last.target in index else []
        if last.goes_on and past < len(body):
            follow.append(which + 1)
        made.append((begin, past, follow))
    return made


def costs(body):
    """Returns {return address: cost of its block}, in the order of the addresses."""
    price, made, cost = prices(body), blocks(body), {}
    last_call, no_call = [], {}
    for which, (begin, past, _) in enumerate(made):
        sites = [at for at in range(begin, past) if body[at][1].trace and at + 1 < len(body)]
        ends = sites[1:] + [past]
        for site, first, end in zip(sites, [begin] + ends, ends):
            cost[body[site + 1][0]] = sum(price[first:end])
        last_call.append(body[sites[-1] + 1][0] if sites else None)
        if not sites:
            no_call[which] = sum(price[begin:past])

    def after(which, ahead):
        follow = made[which][2]
        return sum(ahead.get(each, 0.0) for each in follow) / len(follow) if follow else 0.0

    ahead = dict(no_call)
    for _ in range(8 if no_call else 0):  # 8 steps, because blocks without a call may form a loop
        ahead = {which: own + after(which, ahead) for which, own in no_call.items()}
    for which, site in enumerate(last_call):
        if site is not None:
            cost[site] += after(which, ahead)
    return cost


def table(lines, begin, size):
    """Returns a byte for each byte of .text. Adds a block's rounding error to the next block."""
    made = bytearray(size)
    for body in functions(lines):
        left = 0.0
        for site, cost in sorted(costs(body).items()):
            whole = max(0, min(MOST, int(cost + left + 0.5)))
            left = max(-1.0, cost + left - whole)
            made[site - begin] = whole
    return made


def text_and_build_id(binary):
    if binary[:6] != b"\x7fELF\x02\x01":
        raise Refused("it is no 64-bit ELF file")
    first, = struct.unpack_from("<Q", binary, 0x28)
    size, count, names = struct.unpack_from("<3H", binary, 0x3a)
    sections = [struct.unpack_from("<2I4Q", binary, first + at * size) for at in range(count)]
    found = {}
    for name, _, _, address, offset, length in sections:
        at = sections[names][4] + name
        found[binary[at:binary.index(b"\0", at)]] = address, offset, length
    if b".text" not in found or b".note.gnu.build-id" not in found:
        raise Refused("it has no .text or no build id: link it with -Wl,--build-id")
    begin, _, length = found[b".text"]
    note = found[b".note.gnu.build-id"][1]
    return begin, length, struct.unpack_from("<Q", binary, note + 16)[0]


def write_table(path, out):
    files.is_there(out)
    with open(path, "rb") as file:
        binary = file.read()
    begin, length, build_id = text_and_build_id(binary)
    with subprocess.Popen(["objdump", "-d", "-w", "--no-show-raw-insn", "-j", ".text", path],
                          stdout=subprocess.PIPE, text=True) as objdump:
        made = table(objdump.stdout, begin, length)
    if objdump.returncode != 0:
        raise Refused("objdump cannot read it")
    if not any(made):
        raise Refused("no function of it is instrumented")
    files.write(out, MAGIC + struct.pack("<4Q", begin, length, len(binary), build_id) + made)


def main():
    end_with_usage(__doc__)
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        write_table(*sys.argv[1:])
    except (Refused, OSError) as error:
        print(f"block_costs.py: {sys.argv[1]}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
