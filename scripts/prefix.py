#!/usr/bin/python3
"""Unpacks Debian's packages of libraries in a directory, and installs modules of Python in a
virtual environment there. Needs neither root nor apt nor pip, and changes nothing outside the
directory.

Takes each package with the packages that it depends on, but no C or C++ library: the compiler has
its own. So the system's C library must be as new as the suite's. Packages come over https, and the
checksums of the suite's list are checked. `make PREFIX=DIR` builds with the libraries.
"""
import hashlib
import io
import json
import lzma
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from experiments.errors import Refused, parser, run_main

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The compiler's and the system's own, and programs that no library calls.
SYSTEM = re.compile(r"(libc6|libc-|libgcc|libstdc\+\+|libcrypt|gcc-|linux-libc|libtirpc|libnsl"
                    r"|libssl|libkrb|libgss|libk5|libcom-err|libkeyutils|libdb5|libpam)")
PIP = "https://pypi.org/pypi/pip/json"


def fetched(url, sha256=None):
    """Returns the content of a URL. Refuses another checksum than `sha256`."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise Refused(f"{url} cannot be fetched: {getattr(error, 'reason', error)}") from error
    if sha256 and hashlib.sha256(content).hexdigest() != sha256:
        raise Refused(f"{url} has another checksum than the suite's list says")
    return content


def listed(text):
    """Maps the names in a suite's list of packages to their fields."""
    packages = {}
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.M))
        if "Package" in fields:
            packages[fields["Package"]] = fields
    return packages


def closure(names, packages):
    """Returns the named packages and the libraries that they depend on. Refuses an unknown name."""
    wanted, found = list(names), []
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        if name not in packages:
            raise Refused(f"the suite has no package {name}")
        found.append(name)
        for alternatives in packages[name].get("Depends", "").split(","):
            # Takes the first alternative that is a package of the suite. Virtual packages are not.
            each = [re.match(r"\s*([a-z0-9.+-]*)", one)[1] for one in alternatives.split("|")]
            wanted += [one for one in each
                       if one.startswith("lib") and one in packages and not SYSTEM.match(one)][:1]
    return sorted(found)


def data_of(package):
    """Returns the compressed tar file of the content of a .deb file, which is an ar file."""
    at = len("!<arch>\n")
    while at < len(package):
        name, size = package[at:at + 16].decode().strip(), int(package[at + 48:at + 58])
        if name.startswith("data.tar"):
            return package[at + 60:at + 60 + size]
        at += 60 + size + size % 2
    raise Refused("a package has no data.tar")


def unpack(package, directory):
    with tarfile.open(fileobj=io.BytesIO(data_of(package))) as content:
        for member in content.getmembers():
            if member.name.startswith("/") or ".." in member.name.split("/"):
                raise Refused(f"a package has a file outside the prefix: {member.name}")
        content.extractall(directory)


def install_libraries(names, prefix, options):
    suite = f"{options.mirror}/dists/{options.suite}/main"
    index = fetched(f"{suite}/binary-{ARCHITECTURES[options.machine]}/Packages.xz")
    packages = listed(lzma.decompress(index).decode())
    marks = prefix / "packages"
    marks.mkdir(parents=True, exist_ok=True)
    for name in closure(names, packages):
        fields = packages[name]
        mark = marks / f"{name}={fields['Version'].replace('/', '_')}"
        if mark.exists():
            continue
        print(f"  {name} {fields['Version']}", flush=True)
        unpack(fetched(f"{options.mirror}/{fields['Filename']}", fields["SHA256"]), prefix)
        mark.touch()


def install_modules(names, prefix):
    """Installs modules of PyPI. pip comes from PyPI too: the system's Python may have none."""
    venv = prefix / "venv"
    python = venv / "bin/python3"
    print(f"  {' '.join(names)} in {venv}", flush=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    with tempfile.TemporaryDirectory() as directory:
        wheel = next(one for one in json.loads(fetched(PIP))["urls"]
                     if one["packagetype"] == "bdist_wheel")
        pip = pathlib.Path(directory) / wheel["filename"]
        pip.write_bytes(fetched(urllib.parse.urljoin(PIP, wheel["url"]),
                                wheel["digests"]["sha256"]))
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *names], check=False,
                              env={**os.environ, "PYTHONPATH": str(pip)})
        if done.returncode != 0:
            raise Refused(f"pip could not install {' '.join(names)}, see above")


def main():
    made = parser(__doc__)
    made.add_argument("prefix", metavar="DIR", type=pathlib.Path)
    made.add_argument("packages", metavar="PACKAGE", nargs="*", help="like libhwloc-dev")
    made.add_argument("--modules", nargs="+", default=[], help="modules of Python, like pandas")
    made.add_argument("--suite", default="bookworm", help="of Debian; else bookworm")
    made.add_argument("--machine", default=platform.machine(), help="else this machine's")
    made.add_argument("--mirror", default="https://deb.debian.org/debian")
    options = made.parse_args()
    if options.machine not in ARCHITECTURES:
        raise Refused(f"--machine={options.machine} is none of {', '.join(ARCHITECTURES)}")
    if options.packages:
        print(f"prefix.py: packages of Debian {options.suite} for {options.prefix}:", flush=True)
        install_libraries(options.packages, options.prefix, options)
    if options.modules:
        print("prefix.py: modules of Python:", flush=True)
        install_modules(options.modules, options.prefix)


if __name__ == "__main__":
    run_main(main)
