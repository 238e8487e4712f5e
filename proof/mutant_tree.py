"""A clone of the repository with its own build, in which one line of one file is changed at a time.

The objects of the unchanged tree are kept beside it while a mutant is there, and put back with
their times. So a mutant costs its own objects and two links, and undoing it costs nothing. Whatever
a session that was ended has left, the next one gets a clean tree from git: the file that git
restores is new to make.
"""

import os
import pathlib
import shutil
import subprocess

# The release build's flags, but quick to compile.
FLAGS = "-O1 -march=native"
BINARIES = ["build/logjam", "build/tests/all"]
LONGEST_BUILD_SECONDS = 3600


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def environment(**more):
    """Returns this process's environment without what a make around it says to other makes."""
    own = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")}
    return {**own, **more}


class Tree:
    def __init__(self, root, folder, revision):
        """Makes the clone in `folder`, or takes the one that is there, and checks out."""
        self.path = folder / "tree"
        self._kept = folder / "kept"
        self._revision = revision
        self._plain = None  # the changed file's path, bytes and times
        self._set_aside = []
        if not (self.path / ".git").exists():
            git(root, "clone", "--quiet", "--shared", "--no-checkout", str(root), str(self.path))
        git(self.path, "checkout", "--quiet", "--force", "--detach", revision)
        shutil.rmtree(self._kept, ignore_errors=True)
        self._kept.mkdir()

    def build(self):
        """Builds the unchanged tree; returns what make said if it cannot."""
        said = self._make(*BINARIES)
        self._objects = self._read_dependencies()
        return said

    def plant(self, mutant):
        """Changes the line, and sets the objects aside that depend on its file."""
        path = self.path / mutant.path
        plain, status = path.read_bytes(), path.stat()
        lines = plain.decode().split("\n")
        if lines[mutant.line - 1] != mutant.before:
            raise ValueError(f"{mutant.path}:{mutant.line} is not {mutant.before}")
        lines[mutant.line - 1] = mutant.after
        self._plain = (path, plain, (status.st_atime_ns, status.st_mtime_ns))
        self._set_aside = [*self._objects.get(mutant.path, []), *BINARIES]
        for name in self._set_aside:
            kept = self._kept / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.path / name, kept)
        path.write_text("\n".join(lines), encoding="utf-8")

    def restore(self):
        """Takes the mutant out. The source comes last: until then, git sees that it has changed."""
        for name in self._set_aside:
            os.replace(self._kept / name, self.path / name)
        path, plain, times = self._plain
        new = path.with_name(path.name + ".restored")
        new.write_bytes(plain)
        os.utime(new, ns=times)
        shutil.copymode(path, new)
        os.replace(new, path)

    def unchanged_build(self):
        """Returns the folder of the binaries without the mutant that is planted."""
        return self._kept / "build"

    def compile(self, mutant):
        """Compiles the objects that depend on the mutant's file, and links. Returns "does not
        compile", "same code", or "" if the programs are now the mutant's."""
        objects = self._objects.get(mutant.path, [])
        # Most mutants that do not compile are found by one object.
        if objects and (self._make(objects[0]) or self._make(*objects)):
            return "does not compile"
        if all(code_of(self._kept / name) == code_of(self.path / name) for name in objects):
            return "same code"
        return "does not compile" if self._make(*BINARIES) else ""

    def _make(self, *targets):
        done = subprocess.run(
            ["make", "--no-print-directory", f"-j{os.cpu_count()}",
             f"REVISION={self._revision[:12]}", *targets],
            cwd=self.path, env=environment(CXXFLAGS=FLAGS), text=True, errors="replace",
            timeout=LONGEST_BUILD_SECONDS, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout if done.returncode else ""

    def _read_dependencies(self):
        """Returns {path of a source: objects that depend on it}. The object of the source itself
        comes first, or of the file beside a header, and objects of tests come last."""
        found = {}
        for path in sorted(self.path.glob("build/**/*.d")):
            name = str(path.relative_to(self.path).with_suffix(".o"))
            for word in path.read_text(encoding="utf-8").replace("\\\n", " ").split():
                if not word.endswith(":") and name not in found.setdefault(word, []):
                    found[word].append(name)
        for source, objects in found.items():
            own = "build/" + str(pathlib.Path(source).with_suffix(".o"))
            objects.sort(key=lambda name, own=own: (name != own, name.startswith("build/tests/")))
        return found


def code_of(path):
    """Returns an object file without what it says to debuggers."""
    bare = path.with_name(path.name + ".bare")
    subprocess.run(["objcopy", "--strip-debug", path, bare], check=True)
    try:
        return bare.read_bytes()
    finally:
        bare.unlink()
