"""A Slurm of emulated nodes on this machine, for as long as the tests need it.

Every file lies in a folder of its own, munge's key and socket included, and every port was free. The nodes are named
like the addresses 127.0.0.1, 127.0.0.2 and so on, all of which are this machine, so no name has to be made to resolve.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path

from tests.consumers.running import environment, free_ports

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")
_SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
_CARDS = 8
_SECONDS_TO_START = 60

_NODE = (
    "NodeHostname=localhost Sockets=2 CoresPerSocket=56 ThreadsPerCore=1 RealMemory=1000000 Feature=nvlink,h100"
    f" Gres=gpu:h100:{_CARDS},nvme:1"
)

_CONFIGURATION = """\
ClusterName=planc
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
EnforcePartLimits=ALL
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdTimeout=0
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu,nvme
{nodes}
"""


def why_not() -> str | None:
    """The reason why no Slurm can be started here; None if it can."""
    missing = [program for program in _PROGRAMS if shutil.which(program, path=_SEARCHED) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return None if os.getuid() == 0 else "slurmd has to be started as root"


class Cluster:
    """The running Slurm; `environment` is what its commands need."""

    def __init__(self, folder: Path, num_nodes: int, partitions: set[str]) -> None:
        self.folder = folder
        self._numbers = range(1, num_nodes + 1)
        self.environment = environment(SLURM_CONF=str(folder / "slurm.conf"))
        self._write(partitions)

    def start(self) -> None:
        """Starts the daemons and waits until the nodes are idle."""
        munge = self.folder / "munge"
        own = [
            f"--{name}={munge / name.partition('-')[0]}"
            for name in ("key-file", "socket", "pid-file", "log-file", "seed-file")
        ]
        self._call("munged", "--force", *own)
        self._call("slurmctld", "-f", str(self.folder / "slurm.conf"), "-c")
        for number in self._numbers:
            self._call("slurmd", "-N", f"127.0.0.{number}", "-f", str(self.folder / "slurm.conf"))
        deadline = time.monotonic() + _SECONDS_TO_START
        while self._idle() < len(self._numbers):
            if deadline < time.monotonic():
                raise RuntimeError((self.folder / "slurmctld.log").read_text())
            time.sleep(0.3)

    def stop(self) -> None:
        """Ends every job and every daemon that was started here, and waits for them."""
        subprocess.run(["scancel", "--quiet", "--user=root"], env=self.environment, check=False, capture_output=True)
        files = [*self.folder.glob("slurmd.*.pid"), self.folder / "slurmctld.pid", self.folder / "munge" / "pid"]
        processes = [int(file.read_text()) for file in files if file.exists()]
        for process in processes:
            _signal(process, 15)
        deadline = time.monotonic() + 15
        while any(_lives(process) for process in processes) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in processes:
            _signal(process, 9)
        shutil.rmtree(self.folder / "dev", ignore_errors=True)

    def test_only(self, script: Path) -> subprocess.CompletedProcess[str]:
        """What `sbatch --test-only` says of a script."""
        command = ["sbatch", "--test-only", str(script)]
        return subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def run(self, script: Path, *arguments: str, cwd: Path, **variables: str) -> tuple[str, str]:
        """The state in which a job ended, and its output. It runs in the environment of whoever submits it."""
        return self.ended(self.submit(script, *arguments, cwd=cwd, **variables), cwd)

    def submit(self, script: Path, *arguments: str, cwd: Path, **variables: str) -> str:
        """The id of a job that now waits or runs."""
        command = ["sbatch", "--parsable", str(script), *arguments]
        given = self.environment | variables
        submitted = subprocess.run(command, env=given, cwd=cwd, capture_output=True, text=True, check=True)
        return submitted.stdout.strip()

    def signal_shell(self, job: str, name: str) -> None:
        """Sends a signal to the batch shell alone, as `--signal=B:` does before the walltime."""
        command = ["scancel", "--batch", f"--signal={name}", job]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

    def ended(self, job: str, cwd: Path) -> tuple[str, str]:
        """The state in which a job ended, and its output."""
        deadline = time.monotonic() + 180
        while (state := self._state(job)) in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
            if deadline < time.monotonic():
                subprocess.run(["scancel", job], env=self.environment, check=False)
                break
            time.sleep(0.3)
        outputs = list(cwd.glob(f"*-{job}.out"))
        return state, outputs[0].read_text() if outputs else ""

    def _state(self, job: str) -> str:
        shown = subprocess.run(
            ["scontrol", "show", "job", job], env=self.environment, capture_output=True, text=True, check=True
        )
        match = re.search(r"JobState=(\w+)", shown.stdout)
        assert match is not None, shown.stdout
        return match[1]

    def _idle(self) -> int:
        command = ["sinfo", "--noheader", "--Node", "--partition=all", "--format=%t"]
        shown = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return shown.stdout.split().count("idle")

    def _call(self, *command: str) -> None:
        subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True, check=True)

    def _write(self, partitions: set[str]) -> None:
        for name in ("munge", "state", "dev", *(f"spool.127.0.0.{number}" for number in self._numbers)):
            (self.folder / name).mkdir()
        (self.folder / "munge").chmod(0o755)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for card in range(_CARDS):
            os.mknod(self.folder / "dev" / f"card{card}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # like /dev/null
        own, *ports = free_ports(1 + len(self._numbers))
        nodes = [
            f"NodeName=127.0.0.{number} Port={port} {_NODE}" for number, port in zip(self._numbers, ports, strict=True)
        ]
        everything = f"127.0.0.[1-{len(self._numbers)}]"
        nodes.append(f"PartitionName=all Nodes={everything} Default=YES MaxTime=7-00:00:00")
        nodes += [f"PartitionName={name} Nodes={everything}" for name in sorted(partitions)]
        text = _CONFIGURATION.format(folder=self.folder, port=own, nodes="\n".join(nodes))
        (self.folder / "slurm.conf").write_text(text)
        cards = f"NodeName={everything} Name=gpu Type=h100 File={self.folder}/dev/card[0-{_CARDS - 1}]\n"
        disks = f"NodeName={everything} Name=nvme Count=1\n"  # a site has resources of its own beside the cards
        (self.folder / "gres.conf").write_text(cards + disks)
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")


def _lives(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def _signal(process: int, number: int) -> None:
    if _lives(process):
        os.kill(process, number)
