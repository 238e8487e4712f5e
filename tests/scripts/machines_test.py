"""Tests the profiles of simulated machines: each has all keys of config/machines/README.md, no
other key, and a source for every number. Tests that `logjam machine` writes such a file."""

import itertools
import os
import pathlib
import re
import subprocess
import unittest

from fixtures import LONGEST_SECONDS

from experiments import tomllib

MACHINES = pathlib.Path(__file__).resolve().parents[2] / "config" / "machines"
ROW = re.compile(r"^\| `(\w+)` \| (text|integer|number) \|.*\| ?(.*?) ?\|$", re.MULTILINE)
LINE = re.compile(r'(\w+) = ("[^"]*"|[^#\s]+)\s*(?:# (.*))?')


def keys():
    """Maps each key in the README's table to its type and default. A key without a default must be
    in every profile. sim/machine/profile.cc decides when a key with a default may be omitted."""
    return {key: (kind, default)
            for key, kind, default in ROW.findall((MACHINES / "README.md").read_text())}


def faults(text):
    """Returns a sentence for each fault of a profile."""
    wanted, found, said = keys(), set(), []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        match = LINE.fullmatch(line)
        if not match:
            said.append(f"line {number} is not `key = value  # source`")
            continue
        key, value, source = match.groups()
        if key not in wanted:
            said.append(f"{key} is unknown")
        elif key in found:
            said.append(f"{key} comes twice")
        found.add(key)
        said += faults_of(key, value, source, wanted.get(key, ("", ""))[0])
    said += [f"{key} is missing" for key, (_, default) in wanted.items() if not default and key not in found]
    return said


def faults_of(key, value, source, kind):
    if kind == "text":
        return [] if value.startswith('"') else [f"{key} is not a text"]
    if kind == "integer" and not re.fullmatch(r"\d+", value):
        return [f"{key} is not a whole number"]
    if not re.fullmatch(r"\d+(\.\d+)?", value):
        return [f"{key} is not a number"]
    if not source or not source.strip():
        return [f"{key} has no source"]
    if re.fullmatch(r"assumed:?\s*", source):
        return [f"{key} is assumed without a reason"]
    return []


def contradictions(profile):
    """Returns a sentence for each pair of numbers that contradict each other."""
    rising = [("l2_cycles", "l3_cycles"), ("l3_cycles", "dirty_cycles"),
              ("l3_cycles", "memory_cycles"), ("dirty_cycles", "hop_dirty_cycles"),
              ("upgrade_cycles", "hop_upgrade_cycles"), ("memory_cycles", "hop_memory_cycles"),
              ("hop_clean_cycles", "two_hop_clean_cycles"),
              ("hop_dirty_cycles", "two_hop_dirty_cycles"),
              ("hop_upgrade_cycles", "two_hop_upgrade_cycles"),
              ("hop_memory_cycles", "two_hop_memory_cycles")]
    said = [f"{near} is above {far}" for near, far in rising
            if near in profile and far in profile and profile[near] > profile[far]]
    said += [f"{key} is not in (0, 1]" for key in ("context_share", "occupancy")
             if not 0 < profile.get(key, 1) <= 1]
    said += [f"{key} is 0" for key in ("ghz", "sockets", "cores", "contexts", "l1_kib", "overlap",
                                       "instructions_per_cycle", "memory_gb_s", "store_buffer",
                                       "time_slice_us") if not profile[key]]
    if profile["interconnect"] not in ("full", "hub", "square", "chassis"):
        said.append("interconnect is unknown")
    return said


class Machines(unittest.TestCase):
    def good(self):
        return (MACHINES / "eleda.toml").read_text()

    def test_every_profile_has_its_keys_and_a_source_for_every_number(self):
        profiles = sorted(MACHINES.glob("*.toml"))
        self.assertTrue(profiles)
        for path in profiles:
            with self.subTest(profile=path.name):
                self.assertEqual(faults(path.read_text()), [])
                self.assertEqual(contradictions(tomllib.loads(path.read_text())), [])

    def test_the_readme_lists_the_profiles_that_there_are(self):
        listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$",
                            (MACHINES / "README.md").read_text(), re.MULTILINE)
        there = {path.stem for path in MACHINES.glob("*.toml")} | {"this"}
        self.assertEqual(set(listed), there)

    def test_a_label_is_explained_at_the_top_of_the_file(self):
        for path in sorted(MACHINES.glob("*.toml")):
            text = path.read_text()
            explained = set(re.findall(r"^# (\[[^]]+\])", text, re.MULTILINE))
            used = set(re.findall(r"\[[^]]+\]", re.sub(r"^#.*$", "", text, flags=re.MULTILINE)))
            with self.subTest(profile=path.name):
                self.assertEqual(used - explained, set())
                self.assertEqual(explained - used, set())

    def test_what_rests_on_a_source_that_was_not_looked_up_is_called_assumed(self):
        for path in sorted(MACHINES.glob("*.toml")):
            text = path.read_text()
            head = re.sub(r"\n# {6,}", " ", text)
            unseen = re.findall(r"^# (\[[^]]+\]).*Not looked up", head, re.MULTILINE)
            for line in text.splitlines():
                match = LINE.fullmatch(line)
                if match and (any(label in line for label in unseen) or "remembered" in line):
                    with self.subTest(profile=path.name, line=line):
                        self.assertRegex(match[3], r"^assumed: ")

    def test_a_missing_an_unknown_and_a_repeated_key_are_faults(self):
        self.assertEqual(faults(re.sub(r"(?m)^occupancy.*\n", "", self.good())),
                         ["occupancy is missing"])
        self.assertEqual(faults(self.good() + "l4_mib = 3  # x\n"), ["l4_mib is unknown"])
        self.assertEqual(faults(self.good() + "ghz = 3  # x\n"), ["ghz comes twice"])

    def test_a_number_without_a_source_and_a_text_in_place_of_a_number_are_faults(self):
        for key, wrong in (("overlap", ("3.0", "3.0  #", "3.0  # ", "3.0  # assumed:")),
                           ("store_buffer", ("fast  # x", '"3"  # x', "-3  # x", "3.5.1  # x"))):
            for value in wrong:
                with self.subTest(key=key, value=value):
                    self.assertTrue(faults(re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}",
                                                  self.good())))


@unittest.skipUnless(os.environ.get("LOGJAM"), "LOGJAM names no binary")
class MachineCommand(unittest.TestCase):
    def test_the_command_writes_a_whole_profile_in_which_every_source_says_measured_or_assumed(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two cores")
        done = subprocess.run([os.environ["LOGJAM"], "machine", "--test=machine_repetitions:1"],
                              stdout=subprocess.PIPE, text=True, check=True,
                              timeout=LONGEST_SECONDS)
        text = done.stdout
        self.assertEqual(faults(text), [])
        for line in text.splitlines():
            if (match := LINE.fullmatch(line)) and match[3] is not None:
                self.assertRegex(match[3], "^(measured by logjam machine|assumed): .")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_each_pair_of_cores_has_a_hand_off_time(self):
        cores = sorted(os.sched_getaffinity(0))[:3]
        done = subprocess.run(["taskset", "-c", ",".join(map(str, cores)), os.environ["LOGJAM"],
                               "machine", "hand-offs", "--test=machine_repetitions:1"],
                              stdout=subprocess.PIPE, text=True, check=True,
                              timeout=LONGEST_SECONDS)
        head, *lines = done.stdout.splitlines()
        self.assertEqual(head, "core,other,ns")
        self.assertEqual([tuple(map(int, line.split(",")[:2])) for line in lines],
                         list(itertools.combinations(cores, 2)))
        self.assertTrue(all(float(line.split(",")[2]) > 0 for line in lines), lines)
