"""Tests the prices of basic blocks: each rule with a listing, and all rules with a program."""

import pathlib
import struct
import subprocess
import tempfile
import unittest

import block_costs
from block_costs import MOVE, SAVE
from experiments.errors import Refused

SCRIPT = pathlib.Path(block_costs.__file__)
TRACE, READ, FIRST = "call 9000 <__sanitizer_cov_trace_pc>", "call 9008 <__tsan_read8>", 0x1000


def listing(*instructions):
    """Returns objdump's text of one function. `@3` is the address of the instruction 3, from 0."""
    lines = ["0000000000001000 <f>:\n"]
    for at, text in enumerate(instructions):
        name, at_sign, number = text.partition("@")
        if at_sign:
            text = f"{name}{FIRST + 4 * int(number):x} <f+0x{4 * int(number):x}>"
        lines.append(f"    {FIRST + 4 * at:x}:\t{text}\n")
    return lines + ["\n"]


def costs(*instructions):
    """Returns the costs of the function's blocks, in the order of their calls in the text."""
    body, = block_costs.functions(listing(*instructions))
    return [cost for _, cost in sorted(block_costs.costs(body).items())]


FRAME = ["push %rbp", "mov %rsp,%rbp", "push %rbx", TRACE, "inc %ebx", "pop %rbx", "pop %rbp",
         "ret"]
# For each rule: the instructions of a function, and the costs of the function's blocks.
RULES = [
    ("calls of the instrumentation and their arguments are free",
     [TRACE, "lea 0x8(%rbx),%rdi", READ, "add 0x8(%rbx),%rax", "mov $0x20,%esi",
      "lea 0x10(%rbx),%rdi", "call 9010 <__tsan_read_range>", "ret"], [2]),
    ("an atomic operation is one instruction, and its order none",
     [TRACE, "mov $0x5,%edx", "mov $0x1,%esi", "mov %rbx,%rdi",
      "call 9010 <__tsan_atomic64_fetch_add>", "ret"], [2]),
    ("an atomic operation at a function's end is the operation and the return",
     [TRACE, "mov $0x5,%esi", "jmp 9010 <__tsan_atomic64_load>"], [2]),
    ("an address that is kept for the next access is free",
     [TRACE, "lea 0x8(%rbx),%rax", "mov %rax,%rdi", "mov %rax,-0x40(%rbp)", READ,
      "add 0x8(%rbx),%rcx", "mov -0x40(%rbp),%rdi", "call 9010 <__tsan_write8>", "ret"], [2]),
    ("an address that the access uses itself counts",
     [TRACE, "lea 0x8(%rbx),%r12", "mov %r12,%rdi", READ, "add (%r12),%rcx", "ret"], [3]),
    ("moves count less, but not those that set up another call",
     [TRACE, "mov %rax,%rbx", "mov 0x8(%rbx),%rsi", "mov %rbx,%rdi", "call 9010 <other>", "ret"],
     [MOVE + 4]),
    ("a store and a constant count whole",
     [TRACE, "mov $0x1,%eax", "mov %rax,0x8(%rbx)", "ret"], [3]),
    ("a frame is free where only the instrumentation is called", FRAME, [2]),
    ("a frame counts where another function is called",
     [*FRAME[:4], "call 9010 <other>", *FRAME[5:]], [4 * SAVE + MOVE + 2]),
    ("a branch separates two blocks, and instructions before a call are of the call's block",
     [TRACE, "test %eax,%eax", "je @6", TRACE, "inc %ebx", "ret", "xor %eax,%eax", "inc %eax",
      TRACE, "inc %eax", "ret"], [2, 2, 4]),
    ("a block without a call is charged before, as often as it is reached",
     [TRACE, "test %eax,%eax", "je @7", *["inc %ebx"] * 4, TRACE, "ret"], [2 + 4 / 2, 1]),
    ("blocks without a call in a row are all charged before",
     [TRACE, "jmp @2", "inc %ebx", "jmp @4", "inc %ebx", "jmp @6", "inc %ebx", "ret"], [7]),
    ("divisions are expensive, and padding is free",
     [TRACE, "div %rcx", "vsqrtsd %xmm0,%xmm0,%xmm0", "nopl 0x0(%rax)", "xchg %ax,%ax", "ret"],
     [2 * block_costs.EXPENSIVE + 1]),
]


class BlockCosts(unittest.TestCase):
    def test_each_rule(self):
        for rule, instructions, wanted in RULES:
            with self.subTest(rule):
                found = [round(cost, 6) for cost in costs(*instructions)]
                self.assertEqual(found, [round(cost, 6) for cost in wanted])

    def test_a_loop_without_a_call_ends(self):
        self.assertLess(costs(TRACE, "dec %eax", "jne @1", "ret")[0], 20)

    def test_a_function_that_is_not_instrumented_has_no_price(self):
        self.assertEqual(list(block_costs.functions(listing("inc %eax", "ret"))), [])

    def test_what_rounding_takes_the_next_block_gets(self):
        one = [TRACE, "mov %rax,%rbx", "mov %rbx,%rax", "mov %rax,%rbx"]
        made = block_costs.table(listing(*one * 8), FIRST, 4 * 32)
        self.assertEqual(sum(made), round(8 * 3 * MOVE))
        self.assertLessEqual(max(made) - min(each for each in made if each), 1)

    def test_a_price_is_at_most_255_and_the_next_block_gets_the_rest(self):
        made = block_costs.table(listing(TRACE, *["inc %eax"] * 300, TRACE, "ret"), FIRST, 4 * 310)
        self.assertEqual([cost for cost in made if cost], [255, 300 + 1 - 255])


# In a build without instrumentation, an iteration of sum() has the instructions add, add, cmp, jne.
PROGRAM = """
#include <cstdlib>
__attribute__((noipa)) unsigned long sum(const unsigned long* at, const unsigned long* end) {
  unsigned long all = 0;
  for (; at != end; ++at) all += *at;
  return all;
}
int main(int, char** words) {
  const unsigned long n = strtoul(words[1], nullptr, 10);
  auto* numbers = static_cast<unsigned long*>(calloc(n, 8));
  return sum(numbers, numbers + n) == 0 ? 0 : 1;
}
"""
# Prints the costs of the blocks, from the file in its second argument.
RUNTIME = """
#include <cstdint>
#include <cstdio>
#include <vector>
extern "C" char __executable_start, etext;
// Of each address. Other files' static data may be made before, and this file's be gone after.
std::vector<uint64_t>& calls() {
  static auto& made = *new std::vector<uint64_t>(&etext - &__executable_start);
  return made;
}
extern "C" {
void __tsan_init() {}
void __tsan_read8(void*) {}
void __sanitizer_cov_trace_pc() {
  ++calls()[static_cast<char*>(__builtin_return_address(0)) - &__executable_start];
}
__attribute__((destructor)) void print() {
  FILE* file = fopen("blocks", "rb");
  uint64_t head[5];
  if (file == nullptr || fread(head, 8, 5, file) != 5) return;
  std::vector<uint8_t> costs(head[2]);
  if (fread(costs.data(), 1, head[2], file) != head[2]) return;
  const uint64_t skipped = head[1] - reinterpret_cast<uintptr_t>(&__executable_start);
  uint64_t all = 0;
  for (uint64_t at = 0; at < head[2] && skipped + at < calls().size(); ++at) {
    all += calls()[skipped + at] * costs[at];
  }
  printf("%lu\\n", all);
}
}
"""


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.at = pathlib.Path(directory.name)
        cls.compile("program", PROGRAM, "-U__SANITIZE_THREAD__", "-fsanitize=thread",
                    "-fsanitize-coverage=trace-pc", "--param", "tsan-instrument-func-entry-exit=0")
        cls.compile("runtime", RUNTIME)
        cls.link("with_id", "-Wl,--build-id")
        cls.link("without_id", "-Wl,--build-id=none")

    @classmethod
    def compile(cls, name, text, *flags):
        subprocess.run(["g++", "-x", "c++", "-std=c++20", "-O2", "-fno-pie", *flags, "-c", "-o",
                        cls.at / f"{name}.o", "-"], input=text, text=True, check=True)

    @classmethod
    def link(cls, name, *flags):
        subprocess.run(["g++", "-no-pie", *flags, "-o", cls.at / name, cls.at / "program.o",
                        cls.at / "runtime.o"], check=True)

    def write(self, name):
        return subprocess.run([SCRIPT, self.at / name, self.at / "blocks"], capture_output=True,
                              text=True)

    def charged(self, count):
        return int(subprocess.run([self.at / "with_id", str(count)], cwd=self.at, check=True,
                                  capture_output=True, text=True).stdout)

    def test_an_iteration_costs_what_it_does_without_instrumentation(self):
        self.assertEqual(self.write("with_id").returncode, 0)
        self.assertAlmostEqual((self.charged(3000) - self.charged(1000)) / 2000, 4, delta=1)

    def test_the_file_names_its_binary(self):
        self.assertEqual(self.write("with_id").returncode, 0)
        written = (self.at / "blocks").read_bytes()
        binary = (self.at / "with_id").read_bytes()
        begin, length, size, build_id = struct.unpack_from("<4Q", written, 8)
        self.assertEqual((written[:8], len(written), size), (b"LJBLOCK1", 40 + length, len(binary)))
        notes = subprocess.run(["readelf", "-n", self.at / "with_id"], capture_output=True,
                               text=True).stdout
        self.assertIn(f"Build ID: {struct.pack('<Q', build_id).hex()}", notes)
        printed = subprocess.run(["objdump", "-h", "-j", ".text", self.at / "with_id"],
                                 capture_output=True, text=True).stdout
        self.assertIn(f" {length:08x}  {begin:016x} ", printed)

    def test_what_is_no_instrumented_program_with_an_id_is_refused_in_a_sentence(self):
        (self.at / "text").write_text("text")
        for name, why in (("text", "no 64-bit ELF"), ("without_id", "--build-id"),
                          ("none", "No such file"), ("runtime.o", "--build-id")):
            with self.subTest(name=name):
                refused = self.write(name)
                self.assertEqual(refused.returncode, 2)
                self.assertIn(why, refused.stderr)
                self.assertEqual(refused.stderr.count("\n"), 1)
        with self.assertRaisesRegex(Refused, "no function of it is instrumented"):
            block_costs.write_table("/bin/true", self.at / "blocks")
