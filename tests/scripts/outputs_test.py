"""No script writes where its reader has something else than a plain file."""

import os
import subprocess
import sys

from files_test import OddFiles
from fixtures import LONGEST_SECONDS, ROOT


class OutputsOfScripts(OddFiles):
    def test_a_script_s_output_is_refused_in_one_sentence_before_it_runs(self):
        scripts = {"checkpoints.py": ["--disk={}"],
                   "holdout.py": ["--logjam=/bin/true", "--points={}"], "products.py": ["--csv={}"],
                   "sweep.sh": ["--out={}", "threads=1"],
                   "compile_commands.py": ["{}", "g++"], "block_costs.py": ["/bin/true", "{}"]}
        for path in self.odd():
            for script, words in scripts.items():
                with self.subTest(script=script, path=os.lstat(path)):
                    done = subprocess.run(
                        [ROOT / "scripts" / script, *(word.format(path) for word in words)],
                        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                        timeout=LONGEST_SECONDS, cwd=ROOT, env={
                            **os.environ, "LOGJAM": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"})
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertRegex(done.stderr, "odd.csv is a .*, where a plain file belongs\n")
                    self.assertEqual(done.stderr.count("\n"), 1)
