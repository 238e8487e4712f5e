"""A simulated machine as the experiments see it: its name, its cores and its constants.

The profiles are config/machines/NAME.toml; logjam reads them itself (`--machine=NAME`). Here they
say how many cores `{cores}` are, and which constants a sensitivity run halves and doubles.
"""

import dataclasses
import hashlib
import pathlib
import tomllib

from experiments import files
from experiments.definition import CONFIG
from experiments.errors import Refused

# Constants that a profile need not have, with what they are then (sim/machine/profile.cc).
DEFAULTS = {"hold": 0.2, "store_cycles": 4, "lines_noticed": 2}
SHAPE = ("sockets", "cores", "contexts")
# They say how the machine is built. Nothing costs as much there.
NO_COSTS = (*SHAPE, "complexes")


@dataclasses.dataclass
class Profile:
    """`fingerprint` tells two versions of the file apart."""

    path: pathlib.Path
    fields: dict
    fingerprint: str

    @property
    def name(self):
        """As --machine and the rows' file say it."""
        return self.path.stem

    @property
    def cores(self):
        """The hardware contexts of all sockets: what a reader of the machine calls its cores."""
        return self.fields["sockets"] * self.fields["cores"] * self.fields["contexts"]

    def constants(self):
        """Returns the numbers that something costs on this machine: a dict of names to values.
        Those that this machine has no use for, as the second hop of one socket, are left out."""
        missing = {name: value for name, value in DEFAULTS.items() if name not in self.fields}
        found = {}
        for name, value in {**self.fields, **missing}.items():
            if isinstance(value, (str, bool)) or name in NO_COSTS or value == 0:
                continue
            hops = 2 if name.startswith("two_hop_") else 1 if name.startswith("hop_") else 0
            if hops <= self._longest_way() and not self._of_a_missing_cache(name):
                found[name] = value
        return found

    def _longest_way(self):
        """Hops between the sockets that are farthest apart."""
        if self.fields["sockets"] == 1:
            return 0
        square = self.fields.get("interconnect") == "square" and self.fields["sockets"] > 2
        return 2 if square else 1

    def _of_a_missing_cache(self, name):
        size = {"l2": "l2_kib", "l3": "l3_mib"}.get(name.split("_")[0])
        return size is not None and self.fields.get(size) == 0


def find(machine, config=CONFIG):
    """Returns the Profile of this --machine."""
    folder = config / "machines"
    path = pathlib.Path(machine) if machine.endswith(".toml") else folder / f"{machine}.toml"
    try:
        content = files.read_bytes(path, links=True)
    except OSError as error:
        there = ", ".join(sorted(each.stem for each in folder.glob("*.toml"))) or "none"
        raise Refused(f"there is no machine {machine}: config/machines/ has {there}; a file is "
                      "named by its path, x.toml") from error
    try:
        fields = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{path} is not TOML: {error}") from error
    missing = [name for name in SHAPE if not isinstance(fields.get(name), int)]
    if missing:
        raise Refused(f"{path} does not say how many {missing[0]} the machine has")
    return Profile(path.resolve(), fields, hashlib.sha256(content).hexdigest()[:12])
