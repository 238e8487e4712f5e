"""Runs a real Slurm on this machine for the tests: a slurmctld, a slurmd per node, and a munged.

The daemons are Debian's. Their keys, sockets, ports and state are in a temporary directory of their
own, so the machine's own Slurm or munge is not affected. The daemons run as the user of the test,
root or not. All nodes are on this machine; each has its own slurmd, port and spool.

Use `LocalSlurm(nodes)` in a `with` statement. It ends all daemons and jobs, also if the test fails.
With `environment`, sbatch, squeue and scancel use this Slurm.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

from processes import (PATH, end_with_parent, free_ports, kill, processes_with, user_name,
                       wait_until)

DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")

CONFIGURATION = """
ClusterName=logjam-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until the credentials of its first run have expired, by default 120 s.
AuthInfo=socket={directory}/munge.socket,cred_expire=5
StateSaveLocation={directory}/state
SlurmctldPidFile={directory}/slurmctld.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdPidFile={directory}/%n.pid
SlurmdLogFile={directory}/%n.log
SlurmdSpoolDir={directory}/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
# Nodes may claim more CPUs than a small machine has.
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MaxArraySize={max_array_size}
MaxJobCount=20000
SlurmdTimeout=3
SlurmctldTimeout=5
ReturnToService=2
KillWait=2
MessageTimeout=3
TCPTimeout=2
"""


class LocalSlurm:
    def __init__(self, nodes=2, max_array_size=1001):
        self.nodes = [f"node{i + 1}" for i in range(nodes)]
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="logjam-slurm-"))
        self.directory.chmod(0o755)  # munged requires this
        self.daemons = {}
        port, *ports = free_ports(1 + nodes)
        host = socket.gethostname().split(".")[0]
        lines = CONFIGURATION.format(host=host, port=port, user=user_name(),
                                     directory=self.directory, max_array_size=max_array_size)
        for name, its_port in zip(self.nodes, ports):
            lines += (f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={its_port} "
                      "CPUs=2 RealMemory=500\n")
        lines += f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES MaxTime=10 State=UP\n"
        (self.directory / "slurm.conf").write_text(lines)
        (self.directory / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        for folder in ("state", *(f"spool.{node}" for node in self.nodes)):
            (self.directory / folder).mkdir()
        self.environment = {**os.environ, "PATH": PATH,
                            "SLURM_CONF": str(self.directory / "slurm.conf")}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        kill(processes_with(SLURM_CONF=self.environment["SLURM_CONF"]))
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self):
        key = self.directory / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        munge = self.directory / "munge.socket"
        self._run("munged", "munged", "--foreground", "--force", f"--key-file={key}",
                  f"--socket={munge}", f"--pid-file={self.directory}/munged.pid",
                  f"--seed-file={self.directory}/munge.seed")
        wait_until("munged listens", munge.exists, self.logs)
        self._run("slurmctld", "slurmctld", "-D", "-c")
        for node in self.nodes:
            self.start_node(node)
        for node in self.nodes:
            wait_until(f"{node} is idle", lambda: self.state(node).startswith("IDLE"), self.logs)

    def _run(self, name, *line, **variables):
        with open(self.directory / f"{name}.out", "ab") as out:
            self.daemons[name] = subprocess.Popen(
                line, env={**self.environment, **variables}, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, cwd=self.directory, preexec_fn=end_with_parent)

    def start_node(self, node):
        # slurmstepd inherits the mark in this environment. Jobs get sbatch's environment instead.
        self._run(node, "slurmd", "-D", "-N", node, LOGJAM_TEST_NODE=self._mark(node))

    def ask(self, *line, check=True):
        done = subprocess.run(line, env=self.environment, capture_output=True, text=True)
        if check and done.returncode:
            raise AssertionError(f"{' '.join(line)}: {done.stderr}\n{self.logs()}")
        return done.stdout.strip()

    def wait_until_empty(self):
        wait_until("no job is in the queue", lambda: not self.ask("squeue", "-h"), self.logs)

    def state(self, node):
        return self.ask("sinfo", "-h", "-N", "-n", node, "-o", "%T", check=False).upper()

    def kill_node(self, node):
        """Simulates a power failure with SIGKILL; returns the number of the jobs' processes."""
        jobs = self.processes_of(node)
        kill([self.daemons[node].pid, *processes_with(LOGJAM_TEST_NODE=self._mark(node)), *jobs])
        self.daemons[node].wait()
        # A job may have started a process between the listing of its processes and the signal.
        kill(self.processes_of(node))
        return len(jobs)

    def processes_of(self, node):
        return processes_with(SLURM_CONF=self.environment["SLURM_CONF"], SLURMD_NODENAME=node)

    def _mark(self, node):
        return f"{self.directory}/{node}"

    def logs(self):
        return "".join(f"== {path.name}\n{path.read_text(errors='replace')[-3000:]}"
                       for path in sorted(self.directory.glob("*.*"))
                       if path.suffix in (".log", ".out"))
