"""kubernetes.yaml: the rules of the API and of the operators' webhooks, and text that arrives as it is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from planc.compiler import Analysis
from planc.plan.model import Plan
from planc.targets._kubernetes_text import (
    documents,
    is_amount,
    is_domain,
    is_folder,
    is_image,
    is_key,
    is_name,
    is_value,
    name_from,
)
from tests.compiling import ROOT, analysed, errors, file_of, files_of, read
from tests.targets.test_scripts import HOSTILE, literal

KINDS = ("pytorchjob", "trainjob", "jobset", "job")
PLANS = [
    pytest.param(plan, id=f"{path.stem}-{plan.name}")
    for path in sorted((Path(__file__).parent / "kubernetes").glob("ok_*.plan"))
    for plan in read(path).plans
]
SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas/kubernetes.schema.json").read_text(encoding="utf-8")))


MEGATRON = """
    train { duration = 100 steps }
    optimizer = adamw { learning_rate = 1e-4 }
    schedule = cosine { warmup = 10 steps  minimum = 1e-5 }
"""


def tried(options: str = "", launch: str = "", *, nodes: int = 2, emit: str = "", rest: str = "") -> Analysis:
    """What planc makes of a plan that emits the target with these options."""
    return analysed(f"""
    gpu card {{ memory = 80 GiB  bf16 = true }}
    model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
    plan run {{
      model = small
      cluster {{ gpu = card  nodes = {nodes}  gpus_per_node = 8 }}
      shard {{ stage = 2 }}
      batch {{ global = {16 * nodes}  micro = 1  sequence_length = 2048 }}
      precision = bf16
      {rest}
      launch {{ script = "train.py"  kubernetes {{ image = "train:1" }}  {launch} }}
      emit = [kubernetes {{ {options} }}{emit}]
    }}
    """)


def compiled(options: str = "", launch: str = "", *, nodes: int = 2, emit: str = "", rest: str = "") -> Plan:
    """A plan without an error."""
    analysis = tried(options, launch, nodes=nodes, emit=emit, rest=rest)
    assert errors(analysis) == [], errors(analysis)
    return analysis.plans[0]


def codes(analysis: Analysis) -> list[str]:
    """The codes of the errors."""
    return [fault.code for fault in errors(analysis)]


def objects(plan: Plan) -> list[dict[str, Any]]:
    """The objects of the plan's file."""
    return list(yaml.safe_load_all(file_of(plan, "kubernetes.yaml")))


def found(plan: Plan, kind: str) -> dict[str, Any]:
    """The only object of a kind."""
    (one,) = (item for item in objects(plan) if item["kind"] == kind)
    return one


def pods(value: Any) -> list[dict[str, Any]]:
    """The specs of all pods below a value."""
    if isinstance(value, list):
        return [pod for item in value for pod in pods(item)]
    if not isinstance(value, dict):
        return []
    own = [value] if "containers" in value else []
    return own + [pod for item in value.values() for pod in pods(item)]


@pytest.mark.parametrize("plan", PLANS)
def test_objects_follow_the_schema(plan: Plan) -> None:
    for item in objects(plan):
        assert [error.message for error in SCHEMA.iter_errors(item)] == []


def test_the_schema_refuses_what_planc_would_not_write() -> None:
    job = found(compiled(), "PyTorchJob")
    for path, value in (
        (("nprocPerNode",), 8),
        (("pytorchReplicaSpecs", "Master", "replicas"), 2),
        (("pytorchReplicaSpecs", "Workers"), job["spec"]["pytorchReplicaSpecs"]["Worker"]),
        (("runPolicy", "restartPolicy"), "Never"),
    ):
        changed = json.loads(json.dumps(job))
        at = changed["spec"]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        assert list(SCHEMA.iter_errors(changed)), path


@pytest.mark.parametrize("plan", PLANS)
def test_every_pod_holds_what_training_needs(plan: Plan) -> None:
    """Shared memory, as many processes as cards, one pod a node, and a script that is there."""
    items = objects(plan)
    script = next(text for name, text in items[0]["data"].items() if name in ("torchrun.sh", "accelerate.sh"))
    gpus, nodes = (int(number) for number in re.findall(r"^planc_(?:ranks|nodes)=(\d+)", script, re.M)[::-1])
    for pod in pods(items):
        (container,) = pod["containers"]
        limits = container["resources"]["limits"]
        assert next(iter(limits.values())) == gpus
        assert {"name": "shared-memory", "mountPath": "/dev/shm"} in container["volumeMounts"]
        assert [volume["emptyDir"]["medium"] for volume in pod["volumes"] if "emptyDir" in volume] == ["Memory"]
        assert [volume["name"] for volume in pod["volumes"]] == [mount["name"] for mount in container["volumeMounts"]]
        assert container["command"][0] == "bash"
        assert container["command"][1].removeprefix("/etc/planc/") in items[0]["data"]
        assert (1 < nodes) == ("podAntiAffinity" in pod.get("affinity", {}))
        rdma = [name for name in limits if not name.endswith(("/gpu", "/xe"))]
        assert bool(rdma) == ("securityContext" in container)


@pytest.mark.parametrize("plan", PLANS)
def test_what_the_webhooks_check(plan: Plan) -> None:
    """The rules of training operator 1.9 (pytorchjob_webhook.go), Trainer 2 (trainingruntime_webhook.go) and JobSet."""
    for item in objects(plan):
        assert is_name(item["metadata"]["name"])
        if item["kind"] == "PyTorchJob":
            roles = item["spec"]["pytorchReplicaSpecs"]
            assert set(roles) <= {"Master", "Worker"}
            assert roles["Master"]["replicas"] == 1
            assert all(1 <= role["replicas"] for role in roles.values())
            for pod in pods(roles):
                assert [container["name"] for container in pod["containers"]] == ["pytorch"]
                assert "restartPolicy" not in pod  # the operator would overwrite it, with a warning
        elif item["kind"] == "TrainingRuntime":
            (job,) = item["spec"]["template"]["spec"]["replicatedJobs"]
            assert job["replicas"] == 1
            assert job["template"]["metadata"]["labels"] == {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
            assert [container["name"] for container in pods(job)[0]["containers"]] == ["node"]
        elif item["kind"] == "TrainJob":
            assert type(item["spec"]["trainer"]["numProcPerNode"]) is int
            assert item["spec"]["runtimeRef"]["name"] == found(plan, "TrainingRuntime")["metadata"]["name"]


@pytest.mark.parametrize("plan", PLANS)
def test_pods_get_the_files_that_were_compiled(plan: Plan) -> None:
    data = objects(plan)[0]["data"]
    others = {file.path: file.text for file in files_of(plan) if file.path != "kubernetes.yaml"}
    for path, text in others.items():
        assert data[path] == text
    assert set(data) - set(others) <= {"torchrun.sh", "pod.sh"}


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_pods_fit(kind: str) -> None:
    """The longest name that passes, and those that follow from it for the last of 1000 nodes."""
    behind = {
        "pytorchjob": ["-worker-999", "-master-0"], "job": ["-999-abcde"],
        "trainjob": ["-node-0-999-abcde"], "jobset": ["-node-0-999-abcde"],
    }  # fmt: skip
    longest = 63 - max(map(len, behind[kind]))
    plan = compiled(f'kind = {kind}  name = "{"a" * longest}"', nodes=1000)
    assert {item["metadata"]["name"] for item in objects(plan)} == {"a" * longest}
    assert codes(tried(f'kind = {kind}  name = "{"a" * (longest + 1)}"', nodes=1000)) == ["PLN988"]


def expanded(text: str, variables: dict[str, str]) -> str:
    """What Kubernetes makes of a text: `$$` is `$`, `$(NAME)` the variable where there is one."""
    return re.sub(
        r"\$\$|\$\(([^)]*)\)", lambda at: "$" if at[0] == "$$" else variables.get(at[1] or "", at[0]), text
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_variables_arrive_as_they_are_written(kind: str) -> None:
    references = ["$(V0)", "$$(V0)", "$(MASTER_ADDR)", "$", "a$", "$(", "$()", "$$"]
    texts = [*HOSTILE, *references, "yes", "y", "1e3", "0x10", "0o7", "~", "null", "2026-01-01"]
    names = [f"V{number}" for number in range(len(texts))]
    variables = "  ".join(f"{name} = {literal(text)}" for name, text in zip(names, texts, strict=True))
    plan = compiled(f"kind = {kind}", f"env {{ {variables} }}")
    for pod in pods(objects(plan)):
        given = pod["containers"][0]["env"]
        before: dict[str, str] = {"MASTER_ADDR": "the master"}
        for variable in given:
            if "value" in variable:
                before[variable["name"]] = expanded(variable["value"], before)
        assert [before[name] for name in names] == texts


def test_no_text_of_a_plan_stands_in_a_command() -> None:
    plan = compiled(launch='args = ["$(PATH)", "; touch x"]')
    for pod in pods(objects(plan)):
        assert pod["containers"][0]["command"] == ["bash", "/etc/planc/pod.sh"]
        assert "args" not in pod["containers"][0]


@given(st.recursive(st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3), max_leaves=5))
def test_any_text_survives_yaml(value: Any) -> None:
    assert list(yaml.safe_load_all(documents([{"key": value}, {"key": [value]}]))) == [{"key": value}, {"key": [value]}]


@given(st.text(alphabet="yYnNoOesSfFtrRuUlL~.+-_:0123456789eExbonaNif/ ", max_size=6))
def test_text_that_a_reader_may_take_for_something_else_is_quoted(text: str) -> None:
    """YAML 1.1, 1.2 and Go's reader differ in numbers, truths and dates: what may be one of them stands in quotes."""
    line = documents([{"key": text}]).splitlines()[1].removeprefix("key: ")
    if not line.startswith('"'):
        assert re.fullmatch(r"[A-Za-z/][A-Za-z0-9_./-]*[A-Za-z0-9]", line)
        assert line.lower() not in ("yes", "no", "on", "off", "true", "false", "null", "nan", "inf")


def test_shellcheck_finds_nothing_in_the_script_of_a_pod(tmp_path: Path) -> None:
    paths = []
    for kind in KINDS:
        path = tmp_path / f"{kind}.sh"
        path.write_text(objects(compiled(f"kind = {kind}"))[0]["data"]["pod.sh"], encoding="utf-8")
        paths.append(str(path))
    program = Path(sysconfig.get_path("scripts"), "shellcheck")
    run = subprocess.run([program, "-s", "bash", "-o", "all", *paths], capture_output=True, check=False)
    assert (run.returncode, run.stdout.decode()) == (0, "")


def test_a_port_of_nothing_is_no_port_of_a_container() -> None:
    (pod,) = pods(found(compiled(launch='env { MASTER_PORT = "0" }', nodes=1), "PyTorchJob"))
    assert [port["containerPort"] for port in pod["containers"][0]["ports"]] == [29500]


def test_an_empty_name_is_none() -> None:
    assert codes(tried('name = ""')) == ["PLN988"]


def test_walltime_is_rounded_up_to_a_second() -> None:
    for kind, where in (("pytorchjob", "runPolicy"), ("job", "")):
        plan = compiled(f"kind = {kind}", "walltime = 90.001 s")
        spec = next(item for item in objects(plan) if item["kind"] in ("PyTorchJob", "Job"))["spec"]
        assert (spec[where] if where else spec)["activeDeadlineSeconds"] == 91


@pytest.mark.parametrize(
    ("options", "emit"),
    [
        ("", ", gpt-neox"),
        ("", ", megatron, nanotron"),
        ("launcher = torchrun", ", megatron, torchrun"),
        ("launcher = nanotron", ", deepspeed"),
    ],
)
def test_flags_of_a_trainer_never_get_lost(options: str, emit: str) -> None:
    """Where the script that is started does not hand them on."""
    assert "PLN992" in codes(tried(options, emit=emit))


def test_the_script_of_a_trainer_is_what_pods_start() -> None:
    plan = compiled(emit=", torchrun, megatron", rest=MEGATRON)
    data = objects(plan)[0]["data"]
    assert set(data) == {"megatron.args", "megatron.sh", "pod.sh"}
    assert "planc_script=megatron.sh\n" in data["pod.sh"]


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_compiled_module_can_be_imported(nodes: int, tmp_path: Path) -> None:
    data = objects(compiled(nodes=nodes, emit=", fsdp2"))[0]["data"]
    assert "parallelize.py" in data
    (tmp_path / "pod.sh").write_text(data["pod.sh"])
    (tmp_path / "torchrun.sh").write_text('echo "${PYTHONPATH}"\n')
    environment = {"PATH": os.defpath, "PYTHONPATH": "/of/the/image", "RANK": "0", "PLANC_POD_IP": "10.0.0.1"}
    run = subprocess.run(["bash", tmp_path / "pod.sh"], env=environment, capture_output=True, check=True, text=True)
    assert run.stdout.splitlines()[-1] == f"{tmp_path}:/of/the/image"


def test_a_pod_that_finds_no_master_says_so(tmp_path: Path) -> None:
    script = objects(compiled())[0]["data"]["pod.sh"]
    (tmp_path / "pod.sh").write_text(script.replace("planc_wait=1800", "planc_wait=0").replace("sleep 2", "sleep 1"))
    (tmp_path / "torchrun.sh").write_text("echo started\n")
    master = {"MASTER_ADDR": "no-such-master.invalid", "MASTER_PORT": "29500"}
    environment = {"PATH": os.defpath, "RANK": "1", "PLANC_POD_IP": "10.0.0.2", **master}
    run = subprocess.run(["bash", tmp_path / "pod.sh"], env=environment, capture_output=True, check=False, text=True)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "planc: node 1 found no master at no-such-master.invalid:29500 within 0 s\n"


def test_forms_of_names() -> None:
    for text in ("a", "a-1", "a" * 63):
        assert is_name(text)
    for text in ("", "1a", "-a", "a-", "A", "a_b", "a.b", "a" * 64, "a\n", "\u00e4"):
        assert not is_name(text)
    assert (name_from("Llama 3.1_8B!"), name_from("7B"), name_from("42")) == ("llama-3-1-8b", "b", "")
    assert is_domain("1.b-2")
    assert not is_domain("a..b")
    for text in ("a/b", "example.com/B_c", "kubernetes.io/hostname"):
        assert is_key(text)
    for text in ("", "a/", "/a", "a/b/c", "A/b", "a/b ", "a" * 64):
        assert not is_key(text)
    assert is_value("")
    assert not is_value("a b")


def test_forms_of_amounts_images_and_paths() -> None:
    for text in ("1", "0.5", "16Gi", "100m", "1e3", "5120Mi"):
        assert is_amount(text)
    for text in ("", "0", "0Gi", "-1", "16GB", "1 Gi", "x", "1e", "1.", "Gi"):
        assert not is_amount(text)
    for text in ("train", "train:1", "r.example:5000/a/b__c:T", f"a/b@sha256:{'ab' * 32}"):
        assert is_image(text)
    for text in ("", " a", "a b", "/a", "a.sqsh", "a.sif", "docker#a", "a\n", "A", "r.example/A", "a:", "a@sha256:ab"):
        assert not is_image(text)
    assert is_folder("/a b/c..d")
    for text in ("", "a", "/a:b", "/a/../b"):
        assert not is_folder(text)
