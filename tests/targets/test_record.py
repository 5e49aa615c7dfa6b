"""The step that makes the record of a run: when it is taken, with which words, and that the run's status is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from planc.diagnostics.diagnostic import Severity
from planc.plan import plain
from planc.plan.model import Plan
from tests.compiling import analysed, errors, file_of, files_of, written_out
from tests.targets.stubs import Outcome, Stubs
from tests.targets.test_scripts import HOSTILE, literal, text_of

#: In place of torchrun or accelerate: ends with a status that the environment names.
ENDS = f"""#!{sys.executable} -IS
import os, sys
sys.exit(int(os.environ.get("STUB_STATUS", "0")))
"""

#: In place of torchrun: ends with 7 when it is told to end, a while later.
WAITS = """#!/bin/bash
trap 'sleep 0.5; exit 7' TERM INT
touch "${STUB_CALLS}/../started"
for ((i = 0; i < 600; i++)); do sleep 0.1; done
"""

DATA = 'dataset { name = "corpus"  version = "1" }  evidence { metrics = ["loss"]  file = "metrics.jsonl" }'
SAVED = 'checkpoint { every = 100 steps  directory = "out/ckpt" }'


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    """Stand-ins, among them one of planc."""
    made = Stubs(tmp_path / "stubs")
    put(made.programs / "planc", (made.programs / "torchrun").read_text())
    return made


def put(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def recorded(targets: str, *, nodes: int = 1, directory: str = "out/ckpt", launch: str = "") -> Plan:
    """A plan with `evidence`, whose checkpoints go to a folder."""
    saved = f"checkpoint {{ every = 100 steps  directory = {literal(directory)} }}"
    analysis = analysed(text_of(targets, f'script = "t.py"  {launch}', nodes=nodes, rest=f"{DATA}  {saved}"))
    assert errors(analysis) == []
    return analysis.plans[0]


def attested(outcome: Outcome) -> list[list[str]]:
    """The words of each call of planc."""
    return [call.argv for call in outcome.of("planc")]


def words(folder: Path, number: str, checkpoint: str = "out/ckpt") -> list[str]:
    """What `planc attest` is asked for."""
    parent = os.path.dirname(checkpoint) or "."
    record = f"{parent}/run-{number}.record.json"
    return ["attest", str(folder), f"--checkpoint={checkpoint}", f"--output={record}"]


def test_a_plan_without_evidence_has_no_such_step() -> None:
    plain_plan = analysed(text_of("slurm, torchrun", 'script = "t.py"', rest=SAVED)).plans[0]
    assert [file.path for file in files_of(plain_plan)] == ["job.sbatch", "torchrun.sh"]
    assert not any("record" in file.text for file in files_of(plain_plan))


def test_the_launchers_share_the_script_and_the_plan() -> None:
    both = [file for file in files_of(recorded("slurm, torchrun")) if "launch" not in file.path]
    assert [file.path for file in both] == [
        "job.sbatch", "record.sh", plain.NAME, "torchrun.sh", "record.sh", plain.NAME,
    ]  # fmt: skip
    assert both[1:3] == both[4:]


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip() and "/" not in text])
def test_the_folder_of_the_checkpoint_arrives_as_it_is_written(text: str, stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(recorded("torchrun", directory=text), tmp_path / "a b's")
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path, SLURM_JOB_ID="42")
    assert (outcome.status, attested(outcome)) == (0, [words(folder, "42", text)])
    assert not (tmp_path / "MARK").exists()


def test_the_caller_names_another_checkpoint_record_and_key(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(recorded("torchrun"), tmp_path)
    named = {"PLANC_CHECKPOINT": "other/step 3", "PLANC_RECORD": "my record.json", "PLANC_SIGN": "a key.pem"}
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path, **named)
    wanted = ["--checkpoint=other/step 3", "--output=my record.json", "--sign=a key.pem"]
    assert attested(outcome) == [["attest", str(folder), *wanted]]


def test_a_record_without_a_job_is_called_by_the_time(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(recorded("torchrun"), tmp_path)
    ((*_, output),) = attested(stubs.run(folder / "torchrun.sh", cwd=tmp_path))
    number = output.removeprefix("--output=out/run-").removesuffix(".record.json")
    assert abs(time.mktime(time.strptime(number, "%Y%m%dT%H%M%SZ")) - time.mktime(time.gmtime())) < 120


JOBS = {
    "torchrun": ("slurm, torchrun", "torchrun"),
    "accelerate": ("slurm, accelerate", "accelerate"),
    "srun": ("slurm { launcher = srun }", "python3"),
}


@pytest.mark.parametrize("walltime", ["", "walltime = 1 h"])
@pytest.mark.parametrize("job", JOBS)
def test_a_job_makes_one_record_after_all_nodes(job: str, walltime: str, stubs: Stubs, tmp_path: Path) -> None:
    targets, program = JOBS[job]
    folder = written_out(recorded(targets, nodes=2, launch=walltime), tmp_path)
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2)
    assert (outcome.status, attested(outcome)) == (0, [words(folder, "20042")])
    assert len(outcome.of(program)) == (16 if job == "srun" else 2)
    assert outcome.calls[-1].name == "planc"


@pytest.mark.parametrize("walltime", ["", "walltime = 1 h"])
@pytest.mark.parametrize("script", ["job.sbatch", "torchrun.sh"])
def test_a_run_that_failed_has_no_record_and_keeps_its_status(
    script: str, walltime: str, stubs: Stubs, tmp_path: Path
) -> None:
    folder = written_out(recorded("slurm, torchrun", launch=walltime), tmp_path)
    put(stubs.programs / "torchrun", ENDS)
    for status in (3, 0):
        if script == "job.sbatch":
            outcome = stubs.submit(folder / script, cwd=tmp_path, nodes=1, STUB_STATUS=str(status))
        else:
            outcome = stubs.run(folder / script, cwd=tmp_path, STUB_STATUS=str(status))
        assert (outcome.status, len(attested(outcome))) == (status, 0 if status else 1)


@pytest.mark.parametrize("script", ["job.sbatch", "torchrun.sh"])
def test_a_record_that_cannot_be_made_is_told_and_is_no_fault_of_the_run(
    script: str, stubs: Stubs, tmp_path: Path
) -> None:
    folder = written_out(recorded("slurm, torchrun"), tmp_path / "a b")
    for planc, reason in ((ENDS.replace('"0"', '"1"'), ""), (None, "this node has no command 'planc'")):
        (stubs.programs / "planc").unlink()
        if planc is not None:
            put(stubs.programs / "planc", planc)
        if script == "job.sbatch":
            outcome = stubs.submit(folder / script, cwd=tmp_path, nodes=1)
        else:
            outcome = stubs.run(folder / script, cwd=tmp_path)
        assert outcome.status == 0
        assert reason in outcome.stderr
        told = f"planc: NO RECORD was made of this run, which has ended well; to make it, call bash {folder}/record.sh"
        assert told.replace("a b", "a\\ b") in outcome.stderr
        if planc is not None:
            continue
        # What the message says, once planc is there.
        put(stubs.programs / "planc", (stubs.programs / "accelerate").read_text())
        assert attested(stubs.run(folder / "record.sh", "--time", cwd=tmp_path, SLURM_JOB_ID="7")) == [
            [*words(folder, "7"), "--time"]
        ]


def test_a_script_without_its_folder_says_that_there_is_no_record(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(recorded("torchrun"), tmp_path)
    (folder / "record.sh").unlink()
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path)
    assert (outcome.status, "planc: NO RECORD was made" in outcome.stderr) == (0, True)


@pytest.mark.parametrize(
    ("variables", "is_first"),
    [
        ({"MASTER_ADDR": "n1", "NODE_RANK": "0"}, True),
        ({"MASTER_ADDR": "127.0.0.1", "NODE_RANK": "1"}, False),
        ({"MASTER_ADDR": "n1", "SLURM_NODEID": "0"}, True),
        ({"MASTER_ADDR": "n1", "SLURM_NODEID": "1"}, False),
        ({"MASTER_ADDR": "127.0.0.1"}, True),
        ({"MASTER_ADDR": "own.example", "HOSTNAME": "own.example"}, True),
        ({"MASTER_ADDR": "own", "HOSTNAME": "own.example"}, True),
        ({"MASTER_ADDR": "ow", "HOSTNAME": "own.example"}, False),
        ({"MASTER_ADDR": "nowhere.example"}, False),
    ],
)
def test_the_first_of_several_nodes_makes_the_record(
    variables: dict[str, str], is_first: bool, stubs: Stubs, tmp_path: Path
) -> None:
    folder = written_out(recorded("torchrun", nodes=2), tmp_path)
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path, **variables)
    assert (outcome.status, len(outcome.of("torchrun")), len(attested(outcome))) == (0, 1, int(is_first))
    assert ("the record is left to the first node" in outcome.stdout) is not is_first


def signalled(stubs: Stubs, script: Path, number: signal.Signals) -> tuple[int, float]:
    """The status of a script that got a signal while its run went on, and the time until it had ended."""
    put(stubs.programs / "torchrun", WAITS)
    started = stubs.calls.parent / "started"
    environment = {"PATH": f"{stubs.programs}:{os.defpath}", "STUB_CALLS": str(stubs.calls)}
    with subprocess.Popen([str(script)], env=environment, cwd=script.parent) as run:
        deadline = time.monotonic() + 30
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        before = time.monotonic()
        run.send_signal(number)
        status = run.wait(timeout=30)
    return status, time.monotonic() - before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_run_which_is_waited_for(number: signal.Signals, stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(recorded("torchrun"), tmp_path)
    status, seconds = signalled(stubs, folder / "torchrun.sh", number)
    assert status == 7
    assert 0.4 < seconds < 10
    assert list(stubs.calls.iterdir()) == []  # planc was not called


def test_a_container_makes_the_record_inside(stubs: Stubs, tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "activate").write_text("export ACTIVATED=yes\n")
    launch = f'venv = "{tmp_path}/venv"  container {{ image = "t.sif"  runtime = apptainer  mounts = ["/scratch"] }}'
    folder = written_out(recorded("slurm", nodes=2, launch=launch), tmp_path)
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2, PLANC_RECORD="r.json")
    (call,) = outcome.of("planc")
    assert call.argv == ["attest", str(folder), "--checkpoint=out/ckpt", "--output=r.json"]
    assert call.env["ACTIVATED"] == "yes"
    steps = outcome.of("srun")
    assert [("--nodes=1" in step.argv, "--ntasks=1" in step.argv) for step in steps] == [(False, False), (True, True)]
    assert len(outcome.of("apptainer")) == 3


def pod_files(plan: Plan, folder: Path) -> tuple[Path, str]:
    """What a pod finds in its folder, and the script that it starts."""
    items = list(yaml.safe_load_all(file_of(plan, "kubernetes.yaml")))
    folder.mkdir()
    for name, text in items[0]["data"].items():
        (folder / name).write_text(text, encoding="utf-8")
    container = items[-1]["spec"]["template"]["spec"]["containers"][0]
    return folder, container["command"][1].rpartition("/")[2]


@pytest.mark.parametrize("trainer", ["torchrun", "accelerate"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_the_first_pod_makes_the_record_once(trainer: str, nodes: int, stubs: Stubs, tmp_path: Path) -> None:
    emit = f'kubernetes {{ kind = job  claims = ["run:/work"]  workdir = "/work" }}, {trainer}'
    plan = recorded(emit, nodes=nodes, launch='kubernetes { image = "train:1" }')
    folder, start = pod_files(plan, tmp_path / "planc")
    given = {"PLANC_POD_IP": "10.0.0.1", "MASTER_ADDR": "pod-0", "MASTER_PORT": "29500", "JOB_COMPLETION_INDEX": "0"}
    runner = tmp_path / "start"
    put(runner, f"#!/bin/bash\nexec bash {folder}/{start}\n")
    outcome = stubs.run(runner, cwd=tmp_path, SLURM_JOB_ID="9", **given)
    assert (outcome.status, attested(outcome)) == (0, [words(folder, "9")])
    if nodes == 2:  # the pod of another node finds its master, and leaves the record to it
        text = (folder / start).read_text()
        (folder / start).write_text(text.replace("until (:", "until true || (:"))
        outcome = stubs.run(runner, cwd=tmp_path, **(given | {"JOB_COMPLETION_INDEX": "1"}))
        assert (outcome.status, len(outcome.of(trainer)), attested(outcome)) == (0, 1, [])


@pytest.mark.parametrize("trainer", ["torchrun", "accelerate"])
def test_machines_that_start_torchrun_get_what_it_calls(trainer: str) -> None:
    text = file_of(recorded(f"torchx {{ scheduler = local_cwd }}, {trainer}"), "torchx_job.py")
    assert ("exec planc attest" in text, plain.NAME in text) == (trainer == "torchrun",) * 2


def advice(rest: str, emit: str = "slurm, torchrun", launch: str = "") -> list[tuple[str, str]]:
    """What is told of the record of a plan: messages, and what stands at the place."""
    found = analysed(text_of(emit, f'script = "t.py"  {launch}', rest=rest)).diagnostics
    return [
        (each.message, each.primary.span.text)
        for each in found
        if each.code == "PLN930" and each.severity is Severity.INFO
    ]


def test_what_the_scripts_do_not_learn_is_told_once() -> None:
    assert advice(f"{DATA}  {SAVED}") == []
    unset = "the job makes no record: `checkpoint.directory` is not set"
    assert [message for message, _ in advice(DATA)] == [unset]
    far = SAVED.replace("out/ckpt", "s3://bucket/ckpt")
    told = "the job makes no record: `s3://bucket/ckpt` is no folder of a disk"
    assert advice(f"{DATA}  {far}") == [(told, '"s3://bucket/ckpt"')]
    silent = DATA.replace('file = "metrics.jsonl"', "")
    told = "the job makes no record: `evidence.file` is not set"
    assert advice(f"{silent}  {SAVED}") == [(told, '["loss"]')]
    assert advice(f"{silent}  {SAVED}", "megatron") == []  # which makes none


def test_a_record_that_would_end_with_the_pod_is_told() -> None:
    launch = 'kubernetes { image = "train:1" }'
    saved = SAVED.replace("out/ckpt", "/ckpt")
    for claim, directory, is_told in (
        ("/ckpt", "/ckpt", True), ("/ckpt", "/ckpt/", True), ("/ckpt", "/ckpt/run", False), ("/v", "/v/ckpt", False),
    ):  # fmt: skip
        emit = f'kubernetes {{ claims = ["run:{claim}"] }}'
        told = [message for message, _ in advice(f"{DATA}  {saved.replace('/ckpt', directory)}", emit, launch)]
        assert told == (["the record of the run ends with the pod"] if is_told else []), (claim, directory)
