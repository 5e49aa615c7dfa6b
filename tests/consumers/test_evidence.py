"""Records, read by others: in-toto's own Statement, securesystemslib's DSSE, OpenSSL and sha256sum; and what real
trainers and tools print, read by planc."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from planc.commands.main import main
from planc.evidence.metric_files import read_trainer_state
from planc.evidence.metric_logs import values_in
from planc.evidence.metrics import Value
from planc.evidence.software import versions_in
from tests.commands.evidence import attest, fill, statement, verify
from tests.compiling import plan_of, written_out
from tests.consumers.running import PLANS, PROGRAMS, needs, ran, reports
from tests.consumers.slurm_cluster import Cluster

pytestmark = pytest.mark.consumer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a run and its signed record."""
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert attest("--dataset", "data", "--sign", "key.pem") == 0
    return tmp_path


@needs("in_toto_attestation")
def test_it_is_a_statement_of_in_toto(folder: Path) -> None:
    from google.protobuf.json_format import MessageToDict, ParseDict
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as Message

    made = statement(folder / "record.json")
    message = ParseDict(made, Message(), ignore_unknown_fields=False)
    Statement.copy_from_pb(message).validate()
    # The numbers of a Struct are all floating-point.
    assert MessageToDict(message, preserving_proto_field_name=True)["subject"] == made["subject"]
    assert [subject.digest["sha256"] for subject in message.subject] == [
        subject["digest"]["sha256"] for subject in made["subject"]
    ]


@needs("securesystemslib")
def test_its_envelope_is_verified_and_made_by_another(folder: Path) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import CryptoSigner, SSlibKey

    document = json.loads((folder / "record.json").read_text())
    keyid = document["signatures"][0]["keyid"]
    envelope = Envelope.from_dict(json.loads((folder / "record.json").read_text()))
    right, wrong = (
        SSlibKey.from_crypto(load_pem_public_key((folder / name).read_bytes()), keyid)  # type: ignore[arg-type]
        for name in ("key.pub", "other.pub")
    )
    assert set(envelope.verify([right], 1)) == {keyid}
    with pytest.raises(VerificationError):
        envelope.verify([wrong], 1)
    other = load_pem_private_key((folder / "other.pem").read_bytes(), None)
    made = Envelope(envelope.payload, envelope.payload_type, {})
    made.sign(CryptoSigner(other, wrong))  # type: ignore[arg-type]
    text = json.dumps(made.to_dict(), sort_keys=True, separators=(",", ":"))
    (folder / "record.json").write_text(text)
    assert verify("--checkpoint", "ckpt", "--key", "other.pub") == 0
    assert verify("--checkpoint", "ckpt", "--key", "key.pub") == 1


def test_openssl_verifies_the_signature_and_sha256sum_the_files(folder: Path) -> None:
    document = json.loads((folder / "record.json").read_text())
    payload, kind = base64.b64decode(document["payload"]), document["payloadType"]
    (folder / "covered").write_bytes(b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload))
    (folder / "signature").write_bytes(base64.b64decode(document["signatures"][0]["sig"]))
    for key, status in (("key.pub", 0), ("other.pub", 1)):
        call = ("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", "covered")
        assert subprocess.run([*call, "-sigfile", "signature"], capture_output=True).returncode == status
    sums = "".join(f"{each['digest']['sha256']}  {each['name']}\n" for each in json.loads(payload)["subject"])
    subprocess.run(["sha256sum", "--check", "--strict"], cwd=folder / "ckpt", input=sums.encode(), check=True)


@needs("torch")
def test_a_run_from_its_plan_to_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compiled, trained by what was compiled, recorded, verified; and no longer verified after one byte was changed."""
    plan, record, key = str(PLANS / "recorded.plan"), str(tmp_path / "record.json"), str(tmp_path / "key.pub")
    fill(tmp_path)
    (tmp_path / "out").mkdir()
    for program in ("train_recorded.py", "llama.py"):
        shutil.copy(PROGRAMS / program, tmp_path)
    assert main(["compile", plan, "--plan", "recorded", "-o", str(tmp_path / "compiled")]) == 0
    folder = tmp_path / "compiled" / "recorded"
    ranks = ran(folder / "torchrun.sh", cwd=tmp_path)
    assert [rank["rank"] for rank in ranks] == [0, 1]
    checkpoint = str(tmp_path / "out" / "ckpt")
    made = ["--checkpoint", checkpoint, "--metrics", str(tmp_path / "out" / "metrics.jsonl")]
    signing = ["--sign", str(tmp_path / "key.pem")]
    assert main(["attest", plan, "--plan", "recorded", *made, "-o", record, *signing]) == 0
    predicate = statement(tmp_path / "record.json")["predicate"]
    manifest = json.loads((folder / "planc.manifest.json").read_text())
    assert (predicate["emitted"], predicate["plan"]["sha256"]) == (manifest["files"], manifest["plan"]["sha256"])
    loss = predicate["metrics"][0]["values"]["loss"]
    assert (loss["final"], loss["count"]) == ({"value": ranks[0]["losses"][-1], "step": 3}, 3)
    (found,) = predicate["checkpoint"]["found"]
    assert (found["format"], found["parameters"]) == ("dcp", ranks[0]["parameters"])
    check = ["verify", record, *made, "--plan", plan, "--key", key]
    assert main(check) == 0
    # The script has made the same, from its own folder alone.
    (own,) = (tmp_path / "out").glob("recorded-*.record.json")
    assert statement(own) == statement(tmp_path / "record.json")
    change_a_byte(Path(checkpoint, "step_3", "__1_0.distcp"))
    capsys.readouterr()
    assert main(check) == 1
    assert "differs: checkpoint: `step_3/__1_0.distcp` has other content: SHA-256 " in capsys.readouterr().out


def change_a_byte(path: Path) -> None:
    """Changes the last byte of a file, and nothing of its size."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@needs("torch")
@pytest.mark.slow
def test_a_job_on_two_nodes_makes_its_record(
    slurm: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the plan the cluster has the compiled folder alone; the record is signed, and holds against the plan here."""
    plan, job, home = str(PLANS / "recorded.plan"), tmp_path / "copied" / "job", tmp_path / "home"
    home.mkdir()
    fill(home)
    assert main(["compile", plan, "--plan", "recorded_by_job", "-o", str(home / "compiled")]) == 0
    shutil.copytree(home / "compiled" / "recorded_by_job", job)
    (tmp_path / "out").mkdir()
    for program in ("train_recorded.py", "llama.py"):
        shutil.copy(PROGRAMS / program, tmp_path)
    number = slurm.submit(job / "job.sbatch", cwd=tmp_path, PLANC_SIGN=str(home / "key.pem"))
    state, output = slurm.ended(number, tmp_path)
    assert state == "COMPLETED", output
    assert len(reports(output)) == 4
    record = tmp_path / "out" / f"recorded_by_job-{number}.record.json"
    assert f"wrote `out/{record.name}`, signed" in output
    assert statement(record)["predicate"]["world"] == {
        "cluster.nodes": 2, "cluster.gpus_per_node": 2, "world.size": 4,
    }  # fmt: skip
    made = ["--checkpoint", str(tmp_path / "out" / "ckpt"), "--metrics", str(tmp_path / "out" / "metrics.jsonl")]
    check = ["verify", str(record), *made, "--plan", plan, "--key", str(home / "key.pub")]
    assert main(check) == 0
    assert "Verified: what was checked is as recorded." in capsys.readouterr().out
    change_a_byte(tmp_path / "out" / "ckpt" / "step_3" / "__3_0.distcp")
    assert main(check) == 1
    assert "differs: checkpoint: `step_3/__3_0.distcp` has other content: SHA-256 " in capsys.readouterr().out


@needs("torch")
@pytest.mark.slow
def test_a_job_whose_training_fails_makes_no_record(slurm: Cluster, tmp_path: Path) -> None:
    folder = written_out(plan_of(PLANS / "recorded.plan", "recorded_by_job"), tmp_path)
    (tmp_path / "out" / "ckpt").mkdir(parents=True)
    (tmp_path / "out" / "ckpt" / "left.bin").write_bytes(b"of a run before")
    (tmp_path / "train_recorded.py").write_text("import os, sys\nsys.exit(int(os.environ['RANK']) == 3)\n")
    state, output = slurm.run(folder / "job.sbatch", cwd=tmp_path)
    assert state == "FAILED", output
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "ckpt"]
    assert "planc: no record" not in output.lower()


def of_log(text: str) -> list[Value]:
    return [value for line in text.splitlines(keepends=True) for value in values_in(line)]


@needs("transformers")
def test_what_the_trainer_prints_and_keeps(tmp_path: Path) -> None:
    from transformers.trainer_callback import PrinterCallback, TrainerControl, TrainerState

    state = TrainerState(is_local_process_zero=True)
    logs = {"loss": 2.5, "grad_norm": math.nan, "learning_rate": 1e-05, "epoch": 0.5}
    state.log_history = [logs | {"step": 10}, {"eval_loss": 1.25, "epoch": 1.0, "step": 20}]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        PrinterCallback().on_log(None, state, TrainerControl(), logs=dict(logs))
        PrinterCallback().on_log(None, state, TrainerControl(), logs={"eval_loss": 1.25, "epoch": 1})
    found = of_log(printed.getvalue())
    assert [value for value in found if value.metric != "grad_norm"] == [
        Value("loss", 2.5, None),
        Value("learning_rate", 1e-05, None),
        Value("epoch", 0.5, None),
        Value("eval_loss", 1.25, None),
        Value("epoch", 1, None),
    ]
    assert [math.isnan(value.number) for value in found if value.metric == "grad_norm"] == [True]
    state.save_to_json(str(tmp_path / "trainer_state.json"))
    kept = {value.metric: value for value in read_trainer_state((tmp_path / "trainer_state.json").read_text())}
    assert kept["loss"] == Value("loss", 2.5, 10)
    assert kept["eval_loss"] == Value("eval_loss", 1.25, 20)
    assert math.isnan(kept["grad_norm"].number)


@needs("torch", "accelerate", "transformers", "deepspeed")
def test_what_tools_print_of_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their own texts, with the values of this environment."""
    import accelerate
    import deepspeed
    import torch
    import transformers
    from torch.utils.collect_env import SystemEnv, pretty_str

    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    fields = dict.fromkeys(SystemEnv._fields) | {
        "torch_version": torch.__version__,
        "cuda_compiled_version": "13.0",
        "python_version": "3.11.9 (main) [GCC 13] (64-bit runtime)",
        "nvidia_driver_version": "580.65.06",
        "cudnn_version": "9.10.2",
        "pip_version": "pip3",
        "pip_packages": "numpy==2.4.6\ntorch==2.13.0",
        "conda_packages": "",
        "cpu_info": "",
    }
    text = pretty_str(SystemEnv(**fields))
    text += f"- `transformers` version: {transformers.__version__}\n- `Accelerate` version: {accelerate.__version__}\n"
    text += f"[INFO] DeepSpeed info: version={deepspeed.__version__}, git-hash=unknown, git-branch=unknown\n"
    found: dict[str, set[str]] = {}
    for line in text.splitlines(keepends=True):
        for name, version in versions_in(line):
            found.setdefault(name, set()).add(version)
    assert found == {
        "torch": {torch.__version__, "2.13.0"},
        "cuda": {"13.0"},
        "python": {"3.11.9"},
        "nvidia-driver": {"580.65.06"},
        "cudnn": {"9.10.2"},
        "numpy": {"2.4.6"},
        "transformers": {transformers.__version__},
        "accelerate": {accelerate.__version__},
        "deepspeed": {deepspeed.__version__},
    }
