"""Tests the program for Arm under qemu: runs, crashes and recoveries, logs that move between x86 and
Arm, and the fences of the code that the compiler makes.

qemu 7.2 has neither io_uring nor pwritev2. So on the device `file` threads of the log write, and
fdatasync or fsync syncs the logs on `file` and `sync`. Its newest processor claims `dc cvap`, but
qemu does not execute this instruction, so runs on `nvm` have an older processor. qemu maps 64 GiB of
a file only if qemu's pages are larger than the host's, so these runs have pages of 64 KiB.
"""

import os
import pathlib
import random
import re
import subprocess

import rounds
import workload_rounds
from fixtures import ROOT, InADirectory

LOGJAM = pathlib.Path(os.environ.get("LOGJAM", ROOT / "build/logjam"))
LOGJAM_ARM = pathlib.Path(os.environ.get("LOGJAM_ARM", ROOT / "build-aarch64/logjam.qemu"))
LARGE_PAGES = {"QEMU_CPU": "cortex-a72", "QEMU_PAGESIZE": "65536"}
DEVICES = ["file", "sync", "sim:50"]
SECONDS = 240
# TPC-B's history has counters, which lie in lines of their own.
SHORT = ["--workload=tpcb", "--tpcb_branches=3", "--tpcb_accounts=50", "--threads=2",
         "--seconds=0.2", "--warmup=0", "--log_buffer_mb=4", "--log_prealloc_mb=1"]


def drawn(combinations):
    """Chooses one combination for each protocol. With LOGJAM_TEST_ALL, returns all combinations."""
    if os.environ.get("LOGJAM_TEST_ALL"):
        return combinations
    draw = random.Random(os.environ.get("LOGJAM_TEST_SEED"))
    draw.shuffle(combinations)
    return list({protocol: (scheme, device, protocol)
                 for scheme, device, protocol in combinations}.values())


class OnArm(InADirectory):
    def setUp(self):
        super().setUp()
        saved = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(saved)))

    def ran(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        return done.stdout

    def combinations(self, in_memory):
        """Returns the combinations whose schemes need memory as the device, or all others."""
        return [(scheme, device or DEVICES[at % len(DEVICES)], protocol)
                for at, (scheme, device, protocol) in enumerate(rounds.combinations(LOGJAM))
                if (device == "nvm") == in_memory]

    def play_rounds(self, combinations):
        scales = workload_rounds.small_scales()
        for at, (scheme, device, protocol) in enumerate(drawn(combinations)):
            workload = ["ledger", "tpcc", "ycsb", "tatp"][at % 4]
            os.environ["LOGJAM_SYNC"] = sync = ["fdatasync", "fsync", "auto"][at % 3]
            with self.subTest(f"{workload} {scheme} {device} {sync} {protocol}"):
                row, said = workload_rounds.play(
                    str(LOGJAM_ARM), str(self.directory / "log"), workload, scales[workload][:1], scheme,
                    device, protocol, at, dies_itself=True)
                self.assertEqual(row["result"], "verified", said)
                self.assertGreater(row["acknowledged"], 0, said)


class Arm(OnArm):
    def test_killed_runs_lose_nothing(self):
        self.play_rounds(self.combinations(in_memory=False))

    def test_killed_runs_lose_nothing_in_persistent_memory_with_pages_of_64_kib(self):
        os.environ.update(LARGE_PAGES)
        one, *_ = drawn(self.combinations(in_memory=True))
        self.play_rounds([one, ("nvlog", "nvm", "occ")])

    def test_rings_of_whole_pages_hold_records_with_pages_of_64_kib(self):
        os.environ.update(LARGE_PAGES)
        said = self.ran(LOGJAM_ARM, "run", *SHORT, "--log=centr", "--device=null",
                        "--log_buffer_mb=1")
        self.assertRegex(said, r"verified +passed")

    def test_a_log_and_a_history_are_the_same_on_both_processors(self):
        for first, second in ((LOGJAM, LOGJAM_ARM), (LOGJAM_ARM, LOGJAM)):
            where = self.directory / first.name
            history = self.directory / f"{first.name}.history"
            with self.subTest(first.name):
                self.ran(first, "run", *SHORT, "--log=tide", "--device=sim:50",
                         f"--wal_dir={where}", f"--history={history}", "--history_mb=32",
                         "--transactions=500")
                said = self.ran(second, "recover", f"--wal_dir={where}", "--verify",
                                f"--history={history}")
                self.assertRegex(said, rounds.JUDGED)

    def test_the_simulated_machine_is_refused(self):
        made = subprocess.run(["make", "-C", ROOT, "-n", "ARCH=aarch64", "SIM=1"],
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                              check=False)
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("the simulated machine is x86-64", made.stderr)


class ArmCode(InADirectory):
    """Looks at the instructions: under qemu on x86, code without its fences also works."""

    def instructions(self, function):
        source = self.directory / "code.cc"
        source.write_text(f'#include "engine/storage/tuple.h"\nusing namespace logjam;\n{function}\n')
        made = subprocess.run(
            ["aarch64-linux-gnu-g++", "-std=c++20", "-O2", f"-I{ROOT}", "-S", "-o-", source],
            stdout=subprocess.PIPE, text=True, check=True)
        words = re.findall(r"^\t([a-z]\w*)\s*(.*)$", made.stdout, re.MULTILINE)
        return [" ".join(word).strip() for word in words]

    def test_a_racy_copy_is_between_its_fences(self):
        load = self.instructions("void load(uint64_t* to, const uint64_t* from) "
                                 "{ platform::racy_load(to, from, 8); }")
        self.assertRegex(" ".join(load), r"ldr x\d+, .*dmb ishld")
        store = self.instructions("void store(uint64_t* to, const uint64_t* from) "
                                  "{ platform::order_racy_stores(); "
                                  "platform::racy_store(to, from, 8); }")
        self.assertRegex(" ".join(store), r"dmb ish .*str x\d+, ")

    def test_a_committed_copy_looks_at_the_lock_before_the_version(self):
        copy = self.instructions("bool copy(const Tuple& tuple, std::byte* to, Version* version) "
                                 "{ return try_copy_committed(tuple, 8, to, version); }")
        # Loads the version and twice the lock with acquire. Then loads the version again.
        self.assertRegex(" ".join(copy), r"ldar x.*ldar x.*ldar x\d+, .*ldr x")
        self.assertIn("dmb ishld", copy)
