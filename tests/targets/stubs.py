"""Stand-ins for the programs that launch scripts call: each writes down how it was called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_RECORD = """\
import json, os, sys, time
call = {"name": os.path.basename(sys.argv[0]), "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}
with open(os.path.join(os.environ["STUB_CALLS"], f"{time.time_ns()}-{os.getpid()}.json"), "w") as file:
    json.dump(call, file)
"""

#: Runs the command once for every task of every node, as `srun` does, with what Slurm tells each task.
_SRUN = f"""\
{_RECORD}
import subprocess
command, options = sys.argv[1:], {{}}
while command and command[0].startswith("--"):
    name, _, value = command.pop(0).partition("=")
    options[name] = value
local, tasks = int(options["--ntasks-per-node"]), int(options["--ntasks"])
for task in range(tasks):
    told = {{"NODEID": task // local, "PROCID": task, "LOCALID": task % local, "NTASKS": tasks}}
    told["CPUS_PER_TASK"] = options["--cpus-per-task"]
    variables = {{f"SLURM_{{name}}": str(value) for name, value in told.items()}}
    status = subprocess.run(command, env=os.environ | variables).returncode
    if status:
        sys.exit(status)
"""

#: Runs the command behind the image, with nothing of the caller's variables that the image sets itself.
_APPTAINER = f"""\
{_RECORD}
import subprocess
command = sys.argv[2:]
while command[0].startswith("--"):
    del command[: 1 if command[0] in ("--nv", "--rocm") else 2]
sys.exit(subprocess.run(command[1:], env=os.environ | {{"A": "of the image", "MASTER_ADDR": "image"}}).returncode)
"""

_SCONTROL = """\
import os, sys
if sys.argv[1:3] == ["show", "hostnames"]:
    print(os.environ["STUB_HOSTS"].replace(",", "\\n"))
elif sys.argv[1:3] == ["show", "job"]:
    print(f"JobId={sys.argv[3]} JobName=x\\n   Priority=1\\n   Command={os.environ['STUB_COMMAND']}")
"""

_NPROC = "print(12)\n"


class Call(NamedTuple):
    """One call of a stand-in."""

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: str


class Outcome(NamedTuple):
    """How a script ended, and what it called."""

    status: int
    stdout: str
    stderr: str
    calls: list[Call]

    def of(self, name: str) -> list[Call]:
        """The calls of one program."""
        return [call for call in self.calls if call.name == name]


class Stubs:
    """A folder of stand-ins, and the way to run a script with them."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "programs"
        self.calls = folder / "calls"
        self.programs.mkdir(parents=True)
        self.calls.mkdir()
        for name, body in (
            ("torchrun", _RECORD), ("accelerate", _RECORD), ("python3", _RECORD), ("srun", _SRUN),
            ("apptainer", _APPTAINER), ("scontrol", _SCONTROL), ("scancel", _RECORD), ("nproc", _NPROC),
        ):  # fmt: skip
            path = self.programs / name
            path.write_text(f"#!{sys.executable} -IS\n{body}")
            path.chmod(0o755)

    def run(self, script: Path, *arguments: str, cwd: Path, **variables: str) -> Outcome:
        """The outcome of a script called from a folder, with nothing in its environment but what is given."""
        for file in self.calls.iterdir():
            file.unlink()
        environment = {
            "PATH": f"{self.programs}:{os.defpath}",
            "STUB_CALLS": str(self.calls),
            "LC_ALL": "C.UTF-8",
            **variables,
        }
        run = subprocess.run(
            [str(script), *arguments], cwd=cwd, env=environment, capture_output=True, check=False, timeout=60
        )
        calls = [Call(**json.loads(file.read_text())) for file in sorted(self.calls.iterdir())]
        return Outcome(run.returncode, run.stdout.decode(), run.stderr.decode(), calls)

    def submit(self, script: Path, *arguments: str, cwd: Path, nodes: int, **variables: str) -> Outcome:
        """The outcome of a job, run as Slurm runs it: from a copy of the script elsewhere."""
        spool = self.programs.parent / "spool" / "job00042"
        spool.mkdir(parents=True, exist_ok=True)
        copy = spool / "slurm_script"
        copy.write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
        copy.chmod(0o755)
        hosts = [f"n{number}" for number in range(1, nodes + 1)]
        slurm = {
            "SLURM_JOB_ID": "20042", "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_JOB_NODELIST": f"n[1-{nodes}]",
            "SLURM_CPUS_ON_NODE": "96", "STUB_HOSTS": ",".join(hosts),
            "STUB_COMMAND": " ".join((str(script), *arguments)),
        }  # fmt: skip
        return self.run(copy, *arguments, cwd=cwd, **(slurm | variables))
