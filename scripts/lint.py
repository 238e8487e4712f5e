#!/usr/bin/python3
"""Checks the project's own rules: includes between rooms and floors, code that bypasses platform/,
calls that end the process, sizes of files, phrases, and that names on pages exist.

tests/scripts/lint_test.py plants a violation of each rule, so each rule has been seen to fail.
"""
import os
import pathlib
import re
import subprocess

from experiments.errors import parser, run_main

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_LINES, MOST_README_LINES, MOST_COLUMNS, MOST_SCHEME_LINES = 600, 110, 100, 150
# Each room, and the project's headers that it may include. The first prefix of a path decides.
ROOMS = {
    "platform/": "platform/",
    "sim/measure/": "sim/measure/ platform/", "sim/": "sim/ platform/",
    "engine/checkpoint/": "engine/ platform/ logging/log_scheme.h logging/format/",
    "engine/": "engine/ platform/ logging/log_scheme.h logging/recovery_rule.h "
               "logging/read_stamps.h logging/scheme_registry.h logging/format/log_reader.h "
               "logging/format/record.h logging/format/range_image.h "
               "logging/format/checkpoint.h logging/format/manifest_file.h "
               "logging/format/segments.h",
    "cc/": "cc/ engine/ platform/ logging/log_scheme.h logging/read_stamps.h "
           "logging/row_vectors.h logging/format/record.h logging/format/range_image.h "
           "logging/format/record_writer.h",
    "logging/": "logging/ platform/",
    "workloads/log_insert/": "workloads/log_insert/ engine/stats/ engine/run/commit_pipeline.h "
                             "engine/run/benchmark_threads.h platform/ logging/log_scheme.h "
                             "logging/format/record_writer.h",
    "workloads/sync/": "workloads/sync/ engine/run/benchmark_threads.h platform/",
    "workloads/": "workloads/ engine/workload.h engine/transaction.h engine/storage/ platform/",
    **dict.fromkeys(("proof/rounds/", "tests/"), "tests/ cli/ platform/ sim/ engine/ cc/ logging/ "
                                                 "workloads/ proof/"),
    "proof/": "proof/ workloads/ engine/workload.h engine/transaction.h engine/storage/ platform/",
    "cli/": "cli/ platform/ sim/ engine/ cc/ logging/ workloads/ proof/",
    "scripts/": "scripts/ platform/ engine/ cc/ logging/ workloads/",
}
# The floors, from the bottom up. A file may include headers of its own floor and of lower floors.
# The longest prefix of a path decides.
FLOORS = """platform/ | sim/
 | logging/commit_point.h logging/counters.h logging/flag_checks. logging/log_config.
   logging/log_parts. logging/read_stamps.h logging/row_vectors.h
 | logging/format/ | logging/recovery_rule. logging/device/ | logging/stream/
 | logging/log_scheme. logging/scheme_registry. | logging/schemes/common/ | logging/schemes/
 | logging/log. logging/log_directories. logging/directory_locks.
 | engine/ | cc/ | workloads/ | proof/ | cli/ | scripts/ | proof/rounds/ tests/""".split("|")

# logging/ and cc/ are also built on a simulated platform/, so nothing may bypass platform/.
AROUND = [
    (r"\bstd::(atomic|memory_order)|\b__(atomic|sync)_|\bvolatile\b", "platform::atomic"),
    (r"\bstd::condition_variable", "platform::Parker"),
    (r"\bstd::(j?thread|this_thread)\b|\bpthread_", "platform::thread"),
    (r"rdtsc|\bstd::chrono\b", "platform::now_ns() or platform::ticks()"),
    (r"\bthread_local\b", "what the worker owns"),
    (r"\b(__)?asm(__)?\b|\b_mm_pause\b", "a function of platform/"),
    (r"^ *#\s*(el)?if", "a choice at run time"),
    (r"^ *#\s*include\s*<(std)?(atomic|mutex|shared_mutex|thread|chrono|condition_variable|"
     r"semaphore|latch|barrier|x86intrin\.h|immintrin\.h|pthread\.h|sched\.h)(\.h)?>", "platform/"),
]
# platform/ has two versions of what depends on the processor. The simulated machine is x86-64.
PROCESSOR = (r"\b__(x86_64|aarch64)__\b|\b__builtin_ia32_|\b_mm\d*_|<(\w*intrin|arm_neon|cpuid)\.h>|"
             r"\basm\b")
MAY_KNOW_PROCESSOR = ("platform/", "sim/", "tests/sim/", "scripts/")
KNOWS_NO_PROCESSOR = "sim/measure/"  # runs on each processor; timing.h's asm has no instruction
# The page that argues, for each file with such an access, why the order is enough on Arm.
ORDERS_PAGE = "docs/MEMORY_ORDER.md"
WEAK_ORDER = r"\bmemory_order_relaxed\b|\bfull_fence\(|\batomic_thread_fence\("
# clang checks who holds a platform::mutex (platform/thread_annotations.h), but not a std::mutex.
MUTEX = r"\bstd::(\w+_)?mutex\b|\bstd::(lock_guard|unique_lock|shared_lock|scoped_lock)\b"
MAY_USE_STD_MUTEX = {
    "platform/mutex.h": "is made of it", "platform/os_mutex.h": "is made of it",
    "platform/files.cc": "readers share its lock",
    "proof/disk/": "holds no worker of the simulated machine",
}

# Rooms below cli/ return a sentence or an errno, or throw a CommandError (platform/fatal.h), and cli/
# ends the process. Only these files may end the process themselves, and each of them must do so.
ENDS = (r"\bplatform::fatal\b|(?<![\w.>:])fatal\(|(?<![\w.>:])_?exit\(|"
        r"\bstd::(abort|exit|_Exit|quick_exit|terminate)\(|\bLOG\(FATAL\)")
MAY_END = {
    "this is how the process ends": "platform/fatal.h platform/fatal.cc platform/assert.cc",
    "R7: a log that cannot be written acknowledges nothing more": """
        logging/device/device_file.cc logging/device/nvm_device.cc logging/device/faulty_device.cc
        logging/format/manifest_file.cc logging/log_directories.cc
        engine/checkpoint/checkpointer.cc proof/history/file.cc""",
    "no log can hold this transaction": """cc/commit_log.cc logging/format/record_writer.cc
        logging/schemes/silo/epoch_tids.h logging/schemes/common/buffer_chunks.h
        logging/schemes/common/floors.h""",
    "nothing goes on without memory or stdout": "platform/memory.cc platform/output_file.cc",
    "the simulation is wrong, or the machine that it shall be": "sim/ platform/exploration.cc",
    "an oracle has found a mistake": """workloads/expect_row.h workloads/ycsb/verify.cc
        workloads/ycsb/ycsb.cc proof/history/with_history.cc""",
}
NOT_BELOW_CLI = ("cli/", "scripts/", "tests/", "proof/rounds/")
ENDING_FILES = tuple(" ".join(MAY_END.values()).split())
# Phrases that a reader must read twice. Only the files in NAME_WORDS may contain them.
NAME_WORDS = ("scripts/lint.py", "tests/scripts/lint_test.py")
RECORDS = ("results/PLANTED.md",)  # the names on these pages belong to an earlier revision
PHRASES = (r"(?<!\bfall )(?<!\bfalls )(?<!\bfell )(?<!\bfalling )(?<!\bleft )(?<!\bleave )"
           r"(?<!\bleaves )(?<!\blag )(?<!\bstays )\bbehind\b|\bso (many|manyth|much)\b|"
           r"\b(h(ang|angs|anging|ung) on|but for|in vain|by turns|whoever|of whose)\b")
NO_VERBS = """this its is was has always thus less plus whose yes us does as else unless across
bytes rows workers threads seconds streams numbers units transactions lines pages words files keys
names times values flags columns parts cores schemes entries devices segments""".split()
COMMENTED = r"(?:^ *//.*\n)+(?= *[^\s/])"
FUNCTION = (
    r"\s*(?!(class|struct|enum|union|using|namespace|typedef|if|for|while|switch|return|delete|"
    r"throw|new|else|do|case|static_assert|(DEFINE|DECLARE|TEST|INSTANTIATE|CHECK|LJ_)\w*)\b)"
    r"(template\s*<[^()]*>\s*)?(\[\[\w+\]\]\s*)?"
    r"((virtual|static|inline|constexpr|explicit|friend|const|unsigned|long)\s+)*"
    r"[\w:]+(<[^;={}()]*>)?(::\w+)*(\s*(const)?[*&]+\s*|\s+)([\w:<>]+::)?"
    r"(~?\w+|operator[^\s(]+)\s*\(")

# Flags of libraries, and of other programs that pages mention.
OTHERS_FLAGS = """constraint exclude exclusive flagfile gtest_filter help log_dir user nologtostderr
security-opt set-enabled
partition prefix scope slice sshloginfile time v vmodule wrap""".split()
MEMBER = r"(?<![\w:.])([A-Z]\w+)(?:::~?|\.(?=[A-Z]))(\w+)"
PATH = r"[\w./{},<>*-]"
SOURCE_ENDINGS = (".h", ".cc", ".py", ".sh", ".toml", ".md", ".sql", ".flags", ".js", ".txt")
LATER = r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"
TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|(?<!\w)R"([^(]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                    r"(?<!\w)'(?:\\.|[^'\\\n])*'", re.S)


def strip(code, keep_literals):
    """Returns C++ with spaces in place of comments and, unless `keep_literals`, of literals."""
    def blank(match):
        text = match[0]
        return text if keep_literals and text[0] != "/" else re.sub(r"[^\n]", " ", text)
    return TOKENS.sub(blank, code)


def matches(text, pattern, flags=re.M):
    for match in re.finditer(pattern, text, flags):
        yield text.count("\n", 0, match.start()) + 1, match


def floor_of(path):
    fits = [(len(prefix), floor) for floor, prefixes in enumerate(FLOORS)
            for prefix in prefixes.split() if path.startswith(prefix)]
    return max(fits)[1] if fits else len(FLOORS)


class Tree:
    """The texts of a source tree, by path, and the rules that check them."""
    def __init__(self, files):
        self.files, self.findings = files, []
        self.folders = {str(folder) for path in files for folder in pathlib.PurePath(path).parents}
        self.cpp = {path: text for path, text in files.items() if path.endswith((".cc", ".h"))}
        self.code = {path: strip(text, False) for path, text in self.cpp.items()}
        self.schemes = {name for path, text in self.cpp.items() if "SchemeRegistration" in text
                        for name in re.findall(r'\.name = "([^"]+)"', text)}
        self.defined_in = {}  # flag -> the path on the lowest floor
        for path, text in self.cpp.items():
            for flag in re.findall(r"^DEFINE_\w+\(\s*(\w+),", text, re.M):
                self.defined_in[flag] = min(path, self.defined_in.get(flag, "tests/"), key=floor_of)
        self.arguments = {flag for path, text in files.items() if path.endswith((".py", ".sh"))
                          for flag in re.findall(r"--([\w-]+)[\")]", text)}
        self.words = {path: set(re.findall(r"\w+", code)) for path, code in self.code.items()}

    def add(self, path, line, what):
        self.findings.append(f"{path}:{line}: {what}")

    def check(self):
        for path, text in self.files.items():
            if path.endswith((".cc", ".h", ".py", ".sh")) or path in (
                    "Makefile", ".ci/run", "README.md"):
                self.check_layout(path, text)
            if (path.endswith((".cc", ".h", ".py", ".sh", ".md", ".toml", ".flags")) and
                    path not in NAME_WORDS):
                self.check_words(path, text)
            if path in self.cpp:
                self.check_rooms(path, strip(text, True))
                self.check_code(path)
            if path.endswith(".md") and path not in RECORDS:
                self.check_page(path, text)
        return self.findings

    def check_layout(self, path, text):
        most = MOST_README_LINES if path == "README.md" else MOST_LINES
        if text.count("\n") > most:
            self.add(path, most + 1, f"more than {most} lines: is it one idea?")
        for number, _ in matches(text, LATER):
            self.add(path, number, "left for later: do it, or open an issue")
        for number, line in enumerate(text.splitlines() if path in self.cpp else (), 1):
            if len(line.encode()) > MOST_COLUMNS or "\t" in line:
                self.add(path, number, f"more than {MOST_COLUMNS} columns, or a tab")

    def check_words(self, path, text):
        for number, match in matches(text, PHRASES, re.I):
            self.add(path, number, f'"{match[0]}" makes readers stop')
        if not path.endswith(".md"):
            for number, _ in matches(text, r"^ *(//|#) What [^?\n]*$"):
                self.add(path, number, 'a statement begins with "What": name its subject')
        if path not in self.cpp or path.startswith("tests/"):
            return
        for number, match in matches(text, COMMENTED):
            code = re.match(r"(?:[^;{\n]*\n){0,5}.*", text[match.end():])[0]
            if match.start() == 0 or (not path.endswith(".h") and code.startswith("  ") and
                                      code.endswith(";")):  # an object in a function of a .cc file
                continue
            is_call = re.match(FUNCTION, code) and re.match(r"[^=(]*(operator.*)?\(", code)
            word = re.match(r"[/ \"`]*([a-zA-Z]*)", match[0])[1].lower()
            if is_call and (len(word) < 3 or word[-1] != "s" or word in NO_VERBS):
                self.add(path, number, 'a function\'s comment begins with a verb: "Returns"')

    def check_rooms(self, path, code):
        room = next((name for name in ROOMS if path.startswith(name)), None)
        for number, match in matches(code, r'^ *#\s*include\s*"([^"]+)"'):
            header = match[1]
            if ".." in header or header.endswith(".cc"):
                self.add(path, number, f'includes "{header}": name a header by its path')
            elif room is None:
                self.add(path, number, "is in no room: see ARCHITECTURE.md")
            elif not header.startswith(tuple(ROOMS[room].split())):
                self.add(path, number, f'{room} may not include "{header}"')
            elif floor_of(header) > floor_of(path):
                self.add(path, number, f'includes "{header}", which is on a floor above')
        for number, match in matches(code, r"^ *DECLARE_\w+\((\w+)\)"):
            home = self.defined_in.get(match[1], path)
            if floor_of(home) > floor_of(path):
                self.add(path, number, f"uses --{match[1]} of {home}, on a floor above")
        if room != "platform/":  # platform/ reports oneTBB's forks and joins to TSan
            for number, _ in matches(code, r'^ *#\s*include\s*[<"](oneapi/)?tbb/'):
                self.add(path, number, "includes oneTBB: use platform/parallel.h")
        if room and room.startswith(("cc/", "engine/")):
            for number, match in matches(code, r'"([\w-]+)"'):
                if match[1] in self.schemes:
                    self.add(path, number, f"names the scheme {match[0]}: ask its traits() instead")
        if path.startswith("logging/schemes/") and "SchemeRegistration" in code:
            # A scheme composes shared parts, so its own code is short. Comments do not count.
            written = sum(bool(line.strip()) for line in code.splitlines())
            if written > MOST_SCHEME_LINES:
                self.add(path, 1, f"{written} lines of code: what belongs to a shared part?")

    def check_code(self, path):
        code, below_cli = self.code[path], not path.startswith(NOT_BELOW_CLI)
        rules = [(MUTEX, "is not seen by clang: use platform::mutex")] * (
            below_cli and not path.startswith(tuple(MAY_USE_STD_MUTEX)))
        rules += [(ENDS, "ends the process below cli/: return a sentence, or refuse() or fail()")] * (
            below_cli and not path.startswith(ENDING_FILES))
        if path != "sim/measure/timing.h" and (path.startswith(KNOWS_NO_PROCESSOR) or
                                                not path.startswith(MAY_KNOW_PROCESSOR)):
            rules += [(PROCESSOR, "knows the processor: use a function of platform/")]
        orders = self.files.get(ORDERS_PAGE)
        if orders is not None and below_cli and not path.startswith("sim/"):
            rules += [(WEAK_ORDER, f"is not argued for in {ORDERS_PAGE}")] * (f"`{path}`" not in orders)
        if path.startswith(("logging/", "cc/")):
            rules += [(rule, f"goes around platform/: use {instead}") for rule, instead in AROUND]
        for rule, what in rules:
            for number, match in matches(code, rule):
                self.add(path, number, f'"{match[0].strip()}" {what}')

    def check_page(self, page, text):
        for number, line in enumerate(text.splitlines(), 1):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
                path = os.path.normpath(os.path.join(os.path.dirname(page), target))
                if path not in self.files and path not in self.folders:
                    self.add(page, number, f"links to {path}, which does not exist")
            line = re.sub(r"\]\([^)]*\)", lambda link: " " * len(link[0]), line)
            for flag in re.findall(rf"(?<!{PATH})--(\w[\w-]*+)(?!\*)", line):
                if flag not in {*self.defined_in, *self.arguments, *OTHERS_FLAGS} and (
                        f"({flag}," not in text):  # an example on the page defines the flag
                    self.add(page, number, f"there is no flag --{flag}")
            for match in re.finditer(rf"(?<!--)(?<!{PATH}){PATH}+", line):
                if not line[:match.start()].endswith("> "):  # the command writes into this path
                    self.check_path(page, number, match[0], line.count("`", 0, match.start()) % 2)
            for code in re.findall(r"`([^`]*)`", line):
                for kind, name in re.findall(MEMBER, code):
                    if not any(kind in words and name in words for words in self.words.values()):
                        self.add(page, number, f"no file has {kind} and {name}")

    def check_path(self, page, number, word, in_code):
        if re.search(r"[<>*]|\.\.", word):
            return
        braces = re.fullmatch(r"(.*)\{(.*)\}(.*)", word)
        for path in ([braces[1] + part + braces[3] for part in braces[2].split(",")] if braces
                     else word.split(",")):
            is_folder, path = path.endswith("/") and "." not in path, path.rstrip("./-")
            from_root = "/" in path and path.split("/")[0] in self.folders
            is_end = (in_code and not path.startswith(("build", "/")) and
                      (is_folder or path.endswith(SOURCE_ENDINGS) and path not in SOURCE_ENDINGS))
            if not path or path in self.files or path in self.folders:
                continue
            if from_root or is_end and not any(
                    whole.endswith("/" + path) for whole in (*self.files, *self.folders)):
                self.add(page, number, f"there is no {path}")


def listed_files(root):
    """Lists the files that git knows or would add. Without git, lists all files outside builds."""
    try:
        return subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        paths = (str(path.relative_to(root)) for path in root.rglob("*"))
        return [path for path in paths
                if not path.startswith((".git/", "build")) and "__pycache__" not in path]


def main():
    parser(__doc__).parse_args()
    listed = listed_files(ROOT)
    files = {path: "" if path.startswith("results/") and not path.endswith(".md") else
                   (ROOT / path).read_text("utf-8", "replace")
             for path in listed if (ROOT / path).is_file()}
    tree = Tree(files)
    findings = tree.check() + [f"{path} ends no process: take it from MAY_END"
                               for path in ENDING_FILES if path[-1] != "/" and
                               not re.search(ENDS, tree.code.get(path, ""))]
    print(*findings, f"{len(files)} files, {len(findings)} findings", sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    run_main(main)
