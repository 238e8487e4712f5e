"""Makes the logs that proof/chaos.py harms: small logs of every scheme, by the tested program."""

import functools
import json
import os
import re
import shutil
import subprocess

import rounds  # also finds scripts/
from experiments.errors import Refused

SCALE = ["--workload=ledger", "--ledger=keys:50,cells:16,slots:8", "--threads=2", "--warmup=0",
         "--worker_class=normal", "--log_buffer_mb=1", "--history_mb=1", "--transactions=50"]
STREAM = re.compile(r"stream-\d+\.log\.db(\.\d+)?")


def schemes_of(logjam):
    """Lists the schemes that log, each with the device that it needs, or None."""
    listed = subprocess.run([logjam, "list", "schemes", "--json"], stdout=subprocess.PIPE,
                            text=True, check=True)
    return [(scheme["name"], None if scheme["device"] == "any" else scheme["device"])
            for scheme in json.loads(listed.stdout)["schemes"] if scheme["logs"]]


def acknowledged(said):
    """Returns how many acknowledged transactions a recovery has found, or None."""
    found = rounds.JUDGED.search(said)
    return int(found[2]) if found else None


copy_tree = functools.partial(shutil.copytree, symlinks=True)


def files_under(top):
    return [os.path.relpath(os.path.join(folder, name), top)
            for folder, _, names in sorted(os.walk(top)) for name in sorted(names)]


class Log:
    """A log in the directories `log0` and perhaps `log1` under `folder`, with its history beside
    them. `stages` has copies of the directories at the end of each life except the last."""

    def __init__(self, logjam, draw, folder, schemes):
        self.folder = folder
        self.scheme, device = draw.choice(schemes)
        self.directories = ["log0"] if self.scheme == "scm" or draw.random() < 0.6 else ["log0",
                                                                                        "log1"]
        # Some logs are long. Recovery of a long log reads the segments that the manifest names.
        is_long = device is None and draw.random() < 0.1
        segmented = is_long or (device is None and draw.random() < 0.3)
        records = rounds.draw_records(self.scheme, draw)
        self.flags = [*SCALE, f"--log={self.scheme}", f"--log_records={records}",
                      f"--device={device or draw.choice(['file', 'sync'])}",
                      f"--log_prealloc_mb={'1:1' if segmented else 0}",
                      f"--wal_dir={','.join(self.directories)}"]
        self.made_by, self.stages, self.acknowledged = [], [], 0
        self.sealed = False
        os.makedirs(folder)
        if draw.random() < 0.1:  # none, one or two of the directories exist
            for name in self.directories[:draw.randrange(3)]:
                os.mkdir(os.path.join(folder, name))
            self.lives = 0
            return
        self.lives = 1 if is_long else draw.choice([1, 1, 2, 2, 3])
        self._make(logjam, draw, segmented, is_long)

    def _make(self, logjam, draw, segmented, is_long):
        if draw.random() < 0.15:
            self._run(logjam, ["run", *self.flags])
            self._keep_stage()
        for life in range(1, self.lives + 1):
            words = ["run", *self.flags, "--history=history", f"--seed={draw.randrange(1000)}"]
            if life > 1:
                words.append("--continue")
            elif self.stages:
                words.append("--overwrite")
            if self.scheme != "command" and draw.random() < 0.3:
                words.append("--checkpoint=s:0.02")
            killed = not is_long and draw.random() < 0.2
            if killed:
                words.append(f"--test=ledger_die_after:{draw.randrange(1, 60)}")
            elif is_long or (segmented and draw.random() < 0.2):  # until there are several segments
                words += ["--transactions=6000", "--history_mb=4"]
            self._run(logjam, words, (0, -9) if killed else (0,))
            if life < self.lives or self.sealed:
                self._keep_stage()
        recover = ["recover", f"--wal_dir={','.join(self.directories)}", "--history=history"]
        if not is_long and draw.random() < 0.5:
            self._keep_stage()
            self._run(logjam, [*recover, "--checkpoint"])
            self.sealed = True
        said = self._run(logjam, recover)
        self.acknowledged = acknowledged(said)
        if self.acknowledged is None:
            raise Refused(f"the history was not judged: {self.made_by}\n{said}")

    def _run(self, logjam, words, statuses=(0,)):
        self.made_by.append(words)
        done = subprocess.run([logjam, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=60, check=False)
        if done.returncode not in statuses:
            raise Refused(f"status {done.returncode} of a log that nobody has harmed, "
                          f"{self.made_by}\n{done.stdout}")
        return done.stdout

    def _keep_stage(self):
        stage = os.path.join(self.folder, "stages", str(len(self.stages)))
        for name in self.directories:
            copy_tree(os.path.join(self.folder, name), os.path.join(stage, name))
        self.stages.append(stage)

    def put(self, place):
        for name in sorted(os.listdir(self.folder)):
            if name in self.directories:
                copy_tree(os.path.join(self.folder, name), os.path.join(place, name))
            elif name.startswith("history"):
                shutil.copyfile(os.path.join(self.folder, name), os.path.join(place, name))

    def own(self, place):
        """Lists the paths of the log's files, relative to the directory `place`."""
        return [f"{directory}/{name}" for directory in self.directories
                for name in files_under(os.path.join(place, directory))]

    def folders(self, place):
        return [f"{directory}/{name}" for directory in self.directories
                if os.path.isdir(os.path.join(place, directory))
                for name in sorted(os.listdir(os.path.join(place, directory)))
                if os.path.isdir(os.path.join(place, directory, name))]

    def is_quiet(self, path):
        """Returns whether a loss of bytes in this file may look like the effect of a crash."""
        if self.sealed or not STREAM.fullmatch(os.path.basename(path)):
            return False
        runs = [name for name in self.folders(self.folder) if "/run-" in name]
        last = max((int(name.rpartition("-")[2]) for name in runs), default=1)
        return last == 1 or f"/run-{last}/" in path
