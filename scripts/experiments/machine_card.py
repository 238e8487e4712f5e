"""Describes this machine, without the names of users, hosts and files."""

import contextlib
import hashlib
import json
import os
import pathlib
import platform
import pwd
import re
import socket
import subprocess

HIDDEN = "..."
MOST_TEXT = 500
OF_LSCPU = ("Model name", "Architecture", "Socket(s)", "Core(s) per socket", "Thread(s) per core",
            "NUMA node(s)", "CPU max MHz", "L1d cache", "L1i cache", "L2 cache", "L3 cache",
            "Hypervisor vendor", "Virtualization type")


def names_here():
    """Returns the names of this user and of this host."""
    found = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER")}
    host = socket.gethostname()
    found |= {host, host.partition(".")[0], pathlib.Path("~").expanduser().name}
    with contextlib.suppress(KeyError):
        found.add(pwd.getpwuid(os.getuid()).pw_name)
    return sorted(found - {""}, key=len, reverse=True)


def without_names(text):
    """Returns a text in one line, with HIDDEN in place of paths and of the names of this user and
    this host. Cuts a text that is too long for the file."""
    text = re.sub(r"[^\s,]*/[^\s,]*", HIDDEN, text)
    for name in names_here():
        text = re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", HIDDEN, text, flags=re.I)
    text = "".join(one if one.isprintable() else " " for one in text)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT - len(HIDDEN)] + HIDDEN


def profile_without_names(text):
    """Does the same in the lines of a profile that have texts of the kernel or the processor."""
    return "".join(f"{without_names(line)}\n" if line.startswith(("# Written by", "name =")) else
                   f"{line}\n" for line in text.splitlines())


def _word(root, path):
    """Returns the text of a file of /proc or /sys in one line, or ""."""
    try:
        return " ".join((root / path).read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return ""


def _limit(root, controller, names):
    """Returns the limit of the innermost cgroup around this process that has one, or ""."""
    lines = [line.split(":", 2) for line in
             (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
    for _, controllers, path in lines:
        if controllers not in ("", controller):
            continue
        mounted = root / "sys/fs/cgroup" / (controllers and controller)
        for folder in [mounted / path.strip("/"), *(mounted / path.strip("/")).parents]:
            if not folder.is_relative_to(mounted):
                break
            for name in names:
                found = _word(root, (folder / name).relative_to(root))
                if found and not found.startswith(("max", "-1", "9223372036854771712")):
                    return found
    return ""


def _lscpu():
    try:
        said = subprocess.run(["lscpu"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False, env={**os.environ, "LC_ALL": "C"}).stdout
    except OSError:
        return {}
    pairs = (line.partition(":") for line in said.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip() in OF_LSCPU}


def read(shape, root=pathlib.Path("/")):
    """Returns the card: names and texts. Facts that the kernel does not tell are left out."""
    kib = re.search(r"MemTotal: (\d+)", _word(root, "proc/meminfo"))
    cpu = "sys/devices/system/cpu"
    card = {
        "processor": "", **_lscpu(),
        "logjam may use": f"{shape.contexts} contexts, {shape.cores} cores, "
                          f"{shape.sockets} sockets",
        "memory": f"{int(kib[1]) / 2 ** 20:.0f} GiB" if kib else "",
        "kernel": f"{platform.system()} {platform.release()}",
        "frequency governor": _word(root, f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "frequency driver": _word(root, f"{cpu}/cpu0/cpufreq/scaling_driver"),
        "frequency boost": _word(root, f"{cpu}/cpufreq/boost"),
        "SMT": _word(root, f"{cpu}/smt/control"),
        "transparent huge pages": _word(root, "sys/kernel/mm/transparent_hugepage/enabled"),
        "cgroup's processor limit": _limit(root, "cpu", ("cpu.max", "cpu.cfs_quota_us")),
        "cgroup's memory limit": _limit(root, "memory", ("memory.max", "memory.limit_in_bytes")),
    }
    card["processor"] = card.pop("Model name", "") or "unknown processor"
    return {name: without_names(text) for name, text in card.items() if text}


def id_of(card, shape, binary):
    """Returns the name of the file. Another state of the machine or program has another name."""
    words = re.sub(r"\((R|TM)\)|CPU|Processor|@.*", "", card["processor"], flags=re.I)
    slug = re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")[:40]
    digest = hashlib.sha256(json.dumps([card, binary]).encode()).hexdigest()[:8]
    return f"{slug}-{shape.contexts}-{digest}"
