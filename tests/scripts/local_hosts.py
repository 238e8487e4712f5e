"""Simulates hosts on this machine, for the tests that use ssh. Each host is an sshd on a free port
of 127.0.0.1, with its own keys and configuration.

The tests neither use nor change the machine's own sshd, keys and ~/.ssh. Commands get another home
directory, because a killed shell could damage the user's start files.

Use `LocalHosts(names)` in a `with` statement. It ends all sshds, also if the test fails. With
`environment`, GNU parallel uses these hosts.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

from processes import (PATH, descendants, end_with_parent, free_ports, kill, user_name,
                       wait_until)

PROGRAMS = ("parallel", "ssh", "sshd", "ssh-keygen")

SERVER = """
Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
PermitUserRC no
SetEnv HOME={directory}
MaxStartups 100
"""
CLIENT = """
Host {name}
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {directory}/user_key
  IdentitiesOnly yes
  BatchMode yes
  ConnectTimeout 5
  StrictHostKeyChecking no
  UserKnownHostsFile {directory}/known_hosts
  LogLevel ERROR
"""


class LocalHosts:
    def __init__(self, names):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="logjam-hosts-"))
        self.ports = dict(zip(names, free_ports(len(names))))
        self._sshds = {}
        config = self.directory / "ssh_config"
        config.write_text("".join(
            CLIENT.format(name=name, port=port, user=user_name(), directory=self.directory)
            for name, port in self.ports.items()))
        # GNU parallel keeps its own files in this directory, not in the home directory.
        self.environment = {**os.environ, "PATH": PATH, "PARALLEL_SSH": f"ssh -F {config}",
                            "PARALLEL_HOME": str(self.directory)}

    def __enter__(self):
        try:
            if os.geteuid() == 0:
                os.makedirs("/run/sshd", exist_ok=True)  # sshd needs this directory, even unused
            for key in ("host_key", "user_key"):
                subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                                str(self.directory / key)], check=True)
            for name in self.ports:
                self.start(name)
        except BaseException:
            print(self.logs())
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in list(self._sshds):
            self.kill(name)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, name):
        """Starts the host's sshd, and waits until it answers."""
        config = self.directory / f"{name}.sshd"
        config.write_text(SERVER.format(port=self.ports[name], directory=self.directory))
        sshd = shutil.which("sshd", path=PATH)  # sshd must be called by its absolute path
        with open(self.directory / f"{name}.log", "ab") as log:
            self._sshds[name] = subprocess.Popen([sshd, "-D", "-e", "-f", str(config)],
                                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 preexec_fn=end_with_parent)
        wait_until(f"{name} answers", lambda: self.ask(name, "true").returncode == 0, self.logs)

    def ask(self, name, *line):
        return subprocess.run([*self.environment["PARALLEL_SSH"].split(), name, *line], check=False,
                              env=self.environment, stdin=subprocess.DEVNULL, capture_output=True)

    def under(self, name):
        """Returns the processes that this host's sshd has started."""
        return descendants(self._sshds[name].pid)

    def kill(self, name):
        """Simulates a power failure with SIGKILL; returns the number of the sshd's descendants."""
        under = self.under(name)
        sshd = self._sshds.pop(name)
        kill([sshd.pid, *under])
        sshd.wait()
        return len(under)

    def logs(self):
        return "".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}"
                       for path in sorted(self.directory.glob("*.log")))
