"""Emitted objects of Kubernetes: the schemas of their definitions, Kubeflow's own models, and their pods, run here.

No cluster can be had, so the pods are started as a kubelet would: the files of the ConfigMap in a folder, the variables
of the container expanded, and those added that the operator or the Job controller gives.
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from planc.evidence.statement import parts_of_plan
from planc.manifest import Origin
from planc.plan.model import Plan
from tests.compiling import ROOT, analysed, errors, file_of, files_of
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import PLANS as PLANS_FOLDER
from tests.consumers.running import PROGRAMS, environment, free_ports, needs, reports
from tests.shared import shared
from tests.targets.test_scripts import HOSTILE, literal

pytestmark = pytest.mark.consumer

PLANS = plans_that_write("kubernetes.yaml")

SCHEMA = json.loads((ROOT / "schemas" / "kubernetes.schema.json").read_text())

#: File and version of the definition of a kind; a TrainingRuntime has the `spec` of a ClusterTrainingRuntime.
DEFINITIONS = {
    "PyTorchJob": ("pytorchjob.yaml", "v1"),
    "TrainJob": ("trainjob.yaml", "v1alpha1"),
    "TrainingRuntime": ("ctr.yaml", "v1alpha1"),
    "JobSet": ("jobset.yaml", "v1alpha2"),
}


def objects(plan: Plan) -> list[dict[str, Any]]:
    """The objects of the plan's file."""
    return list(yaml.safe_load_all(file_of(plan, "kubernetes.yaml")))


@cache
def definition(kind: str) -> Draft202012Validator:
    """What the API server checks of a kind of object, an unknown field among them."""
    name, version = DEFINITIONS[kind]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = yaml.load(shared(f"consumers/crds/{name}").read_text(encoding="utf-8"), Loader=loader)["spec"]
    (schema,) = (entry["schema"]["openAPIV3Schema"] for entry in found["versions"] if entry["name"] == version)
    schema["properties"]["metadata"] = {"type": "object"}
    close(schema)
    return Draft202012Validator(schema)


def close(schema: Any) -> None:
    """Turns a schema of a definition into one of JSON Schema that refuses unknown fields, as strict validation does."""
    if isinstance(schema, list):
        for item in schema:
            close(item)
    if not isinstance(schema, dict):
        return
    if schema.pop("x-kubernetes-int-or-string", False):
        schema.pop("type", None)
        schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema.setdefault("additionalProperties", False)
    for value in list(schema.values()):
        close(value)


@pytest.mark.parametrize("plan", PLANS)
def test_definitions_take_every_object(plan: Plan) -> None:
    for item in objects(plan):
        if item["kind"] in DEFINITIONS:
            assert [error.message[:200] for error in definition(item["kind"]).iter_errors(item)] == []


def test_the_definitions_refuse_what_the_issue_names() -> None:
    job, train = one("pytorchjob", "PyTorchJob"), one("trainjob", "TrainJob")
    assert refused("PyTorchJob", job, ("spec", "nprocPerNode"), 8)
    assert refused("PyTorchJob", job, ("spec", "nprocPerNod"), "8")
    assert refused("TrainJob", train, ("spec", "trainer", "numProcPerNode"), "8")
    assert refused("JobSet", one("jobset", "JobSet"), ("spec", "replicatedJob"), [])


def refused(kind: str, item: dict[str, Any], path: tuple[str, ...], value: Any) -> bool:
    """Whether the definition refuses the object with another value at a path."""
    changed = copy.deepcopy(item)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return bool(list(definition(kind).iter_errors(changed)))


@needs("kubernetes_validate")
@pytest.mark.parametrize("plan", PLANS)
def test_kubernetes_takes_its_own_kinds(plan: Plan) -> None:
    import kubernetes_validate

    for item in objects(plan):
        if item["kind"] in ("ConfigMap", "Service", "Job"):
            kubernetes_validate.validate(item, "1.37", strict=True)
        for template in templates(item):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": template["spec"]}
            kubernetes_validate.validate(pod, "1.37", strict=True)


def templates(value: Any) -> Iterator[dict[str, Any]]:
    """The pods' templates below a value."""
    if isinstance(value, dict):
        if "containers" in value.get("spec", {}):
            yield value
        for item in value.values():
            yield from templates(item)
    elif isinstance(value, list):
        for item in value:
            yield from templates(item)


@needs("kubeflow_trainer_api")
@pytest.mark.parametrize("plan", PLANS)
def test_models_of_the_trainer_keep_every_field(plan: Plan) -> None:
    import kubeflow_trainer_api.models as models

    classes = {
        "TrainJob": models.TrainerV1alpha1TrainJob,
        "TrainingRuntime": models.TrainerV1alpha1TrainingRuntime,
        "JobSet": models.JobsetV1alpha2JobSet,
    }
    for item in objects(plan):
        if item["kind"] in classes:
            assert classes[item["kind"]].from_dict(copy.deepcopy(item)).to_dict() == item


@needs("kubeflow_trainer_api")
def test_the_trainer_has_the_fields_that_the_target_was_written_for() -> None:
    """A release with others shows up here: `torch` once held the number of processes, and patches had another name."""
    import kubeflow_trainer_api.models as models

    def fields(model: Any) -> set[str]:
        return {field.alias or name for name, field in model.model_fields.items()}

    assert fields(models.TrainerV1alpha1TrainJobSpec) == {
        "activeDeadlineSeconds", "initializer", "managedBy", "runtimePatches", "runtimeRef", "suspend", "trainer",
    }  # fmt: skip
    assert fields(models.TrainerV1alpha1Trainer) == {
        "args", "command", "env", "image", "numNodes", "numProcPerNode", "resourcesPerNode",
    }  # fmt: skip
    assert fields(models.TrainerV1alpha1TrainingRuntimeSpec) == {"mlPolicy", "podGroupPolicy", "template"}
    assert fields(models.TrainerV1alpha1TorchMLPolicySource) == {"envInjection"}
    assert fields(models.JobsetV1alpha2FailurePolicy) == {"maxRestarts", "restartStrategy", "rules"}


@needs("kubeflow.training")
@pytest.mark.parametrize("plan", PLANS)
def test_models_of_the_training_operator_keep_every_field(plan: Plan) -> None:
    from kubeflow.training.api_client import ApiClient

    client = ApiClient()
    for item in objects(plan):
        if item["kind"] == "PyTorchJob":
            model = client.deserialize(SimpleNamespace(data=json.dumps(item)), "KubeflowOrgV1PyTorchJob")
            for template in templates(item):  # the model takes an amount for text, as the API does
                limits = template["spec"]["containers"][0]["resources"]["limits"]
                limits.update({name: str(amount) for name, amount in limits.items()})
            assert client.sanitize_for_serialization(model) == item


@needs("kubeflow.training")
def test_the_training_operator_has_the_fields_that_the_target_was_written_for() -> None:
    """A release with others shows up here; what planc writes of them stands in its schema."""
    from kubeflow.training import models

    def written(*path: str) -> set[str]:
        """The fields of an object in the schema of what planc writes."""
        found = SCHEMA["$defs"]["PyTorchJob"]
        for name in path:
            found = found["properties"][name]
        return set(found["properties"])

    for model, path, others in (
        (models.KubeflowOrgV1PyTorchJob, (), {"status"}),
        (models.KubeflowOrgV1PyTorchJobSpec, ("spec",), {"elasticPolicy"}),
        (models.KubeflowOrgV1RunPolicy, ("spec", "runPolicy"), {"managedBy", "suspend", "ttlSecondsAfterFinished"}),
        (
            models.KubeflowOrgV1SchedulingPolicy,
            ("spec", "runPolicy", "schedulingPolicy"),
            {"minResources", "priorityClass", "scheduleTimeoutSeconds"},
        ),
        (models.KubeflowOrgV1ReplicaSpec, ("spec", "pytorchReplicaSpecs", "Master"), set()),
        (models.KubeflowOrgV1ReplicaSpec, ("spec", "pytorchReplicaSpecs", "Worker"), set()),
    ):
        assert written(*path) | others == set(model.attribute_map.values()), path
        assert not written(*path) & others, path


@needs("kubeflow_trainer_api")
def test_the_schema_has_fields_of_the_trainer_alone() -> None:
    import kubeflow_trainer_api.models as models

    definitions = SCHEMA["$defs"]

    def fields(model: Any) -> set[str]:
        return {field.alias or name for name, field in model.model_fields.items()}

    job, runtime = definitions["TrainJob"]["properties"]["spec"], definitions["TrainingRuntime"]["properties"]["spec"]
    for written, model in (
        (definitions["TrainJob"], models.TrainerV1alpha1TrainJob),
        (job, models.TrainerV1alpha1TrainJobSpec),
        (job["properties"]["trainer"], models.TrainerV1alpha1Trainer),
        (job["properties"]["runtimeRef"], models.TrainerV1alpha1RuntimeRef),
        (definitions["TrainingRuntime"], models.TrainerV1alpha1TrainingRuntime),
        (runtime, models.TrainerV1alpha1TrainingRuntimeSpec),
        (runtime["properties"]["mlPolicy"], models.TrainerV1alpha1MLPolicy),
        (definitions["JobSet"], models.JobsetV1alpha2JobSet),
        (definitions["jobset"], models.JobsetV1alpha2JobSetSpec),
        (definitions["jobset"]["properties"]["network"], models.JobsetV1alpha2Network),
        (definitions["jobset"]["properties"]["failurePolicy"], models.JobsetV1alpha2FailurePolicy),
    ):
        assert set(written["properties"]) <= fields(model), model.__name__


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="not installed: kubectl")
def test_the_reader_of_kubectl_reads_what_was_written(tmp_path: Path) -> None:
    """Go's reader, which `kubectl kustomize` asks without a cluster, differs from Python's in numbers and truths."""
    texts = [*HOSTILE, "yes", "y", "N", "on", "1e3", "0x1", "0o7", "010", "1_000", ".5", "+1", "2026-01-01", "~"]
    variables = "  ".join(f"V{number} = {literal(text)}" for number, text in enumerate(texts))
    for kind in ("pytorchjob", "trainjob", "jobset", "job"):
        plan = two_nodes(kind, f"env {{ {variables} }}")
        (tmp_path / "kubernetes.yaml").write_text(file_of(plan, "kubernetes.yaml"), encoding="utf-8")
        (tmp_path / "kustomization.yaml").write_text("resources: [kubernetes.yaml]\n")
        run = subprocess.run(["kubectl", "kustomize", tmp_path], capture_output=True, check=True, text=True, timeout=60)
        assert by_kind(list(yaml.safe_load_all(run.stdout))) == by_kind(objects(plan))


def by_kind(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The objects by kind, each of which there is one."""
    return {item["kind"]: item for item in items}


def one(kind: str, name: str) -> dict[str, Any]:
    """The only object of a kind of a plan of two nodes."""
    (found,) = (item for item in objects(two_nodes(kind)) if item["kind"] == name)
    return found


def two_nodes(kind: str, launch: str = "", emit: str = "") -> Plan:
    """A plan of two nodes with a rank each, whose pods run a program of the tests."""
    analysis = analysed(f"""
    gpu cpu {{ memory = 8 GiB  bf16 = true }}
    model tiny {{ layers = 2  hidden = 16  heads = 2  ffn = 64  vocab = 128 }}
    plan pods {{
      model = tiny
      cluster {{ gpu = cpu  nodes = 2  gpus_per_node = 1 }}
      shard {{ stage = 2 }}
      batch {{ global = 16  micro = 4 }}
      precision = bf16
      launch {{ script = "train_fsdp2.py"  kubernetes {{ image = "train:1" }}  {launch} }}
      emit = [kubernetes {{ kind = {kind} }}{emit}]
    }}
    """)
    assert errors(analysis) == []
    return analysis.plans[0]


def expanded(text: str, variables: dict[str, str]) -> str:
    """What Kubernetes makes of a text: `$$` is `$`, `$(NAME)` the variable where there is one."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda at: "$" if at[0] == "$$" else variables.get(at[1], at[0]), text)


class Pods:
    """The pods of a job, started on this machine; each node has an address of loopback."""

    def __init__(self, plan: Plan, folder: Path, port: int) -> None:
        self.items = objects(plan)
        self.folder, self.port = folder, port
        for name, text in self.items[0]["data"].items():
            (folder / name).write_text(text, encoding="utf-8")

    def start(self, node: int) -> subprocess.Popen[str]:
        """The pod of a node, with what its operator or the Job controller sets."""
        container = list(templates(self.items))[-1 if node else 0]["spec"]["containers"][0]
        variables: dict[str, str] = {}
        for variable in container["env"]:
            if "valueFrom" in variable:
                assert variable["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
                variables[variable["name"]] = f"127.0.0.{node + 1}"
            else:
                variables[variable["name"]] = expanded(variable["value"], variables)
        variables |= self.given(container, node)
        if "MASTER_ADDR" in variables:  # no DNS of a cluster here
            assert variables["MASTER_ADDR"] == self.master()
        variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port)}
        command = [word.replace("/etc/planc", str(self.folder)) for word in container["command"]]
        return subprocess.Popen(
            command,
            cwd=PROGRAMS,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def given(self, container: dict[str, Any], node: int) -> dict[str, str]:
        """What the training operator 1.9 adds to a container (envvar.go, master.go), or the controller of Jobs."""
        if container["name"] != "pytorch":
            return {"JOB_COMPLETION_INDEX": str(node)}
        (port,) = container["ports"]
        assert port["name"] == "pytorchjob-port"
        return {
            "PYTHONUNBUFFERED": "1", "MASTER_ADDR": self.master(), "MASTER_PORT": str(port["containerPort"]),
            "WORLD_SIZE": "2", "RANK": str(node), "PET_NNODES": "2", "PET_NPROC_PER_NODE": "1",
            "PET_NODE_RANK": str(node), "PET_MASTER_ADDR": self.master(), "PET_MASTER_PORT": str(port["containerPort"]),
        }  # fmt: skip

    def master(self) -> str:
        """The name at which the cluster's DNS has the first pod."""
        job = self.items[-1]
        name = job["metadata"]["name"]
        if job["kind"] == "PyTorchJob":
            return f"{name}-master-0"
        if job["kind"] == "Job":
            (service,) = (item for item in self.items if item["kind"] == "Service")
            assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": name}
            assert job["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
            return f"{name}-0.{service['metadata']['name']}"
        return f"{name}-node-0-0.{name}"

    def run(self) -> list[dict[str, Any]]:
        """What the ranks report, of pods of which the master is the last to start."""
        second = self.start(1)
        time.sleep(1)
        runs = [self.start(0), second]
        try:
            outputs = [run.communicate(timeout=180)[0] for run in runs]
        finally:
            for run in runs:
                if run.poll() is None:
                    run.terminate()
                    run.communicate(timeout=60)
        assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
        return reports("\n".join(outputs))


@needs("torch")
def test_pods_train_together(tmp_path: Path) -> None:
    plan = two_nodes("pytorchjob", 'args = ["$(PATH) $HOME", "it\'s"]  env { TEXT = "$(PLANC_POD_IP)" }')
    (port,) = free_ports(1)
    ranks = Pods(plan, tmp_path, port).run()
    assert [(rank["rank"], rank["world"], rank["node"]) for rank in ranks] == [(0, 2, 0), (1, 2, 1)]
    assert all(rank["sharded"] and rank["falls"] for rank in ranks)
    assert ranks[0]["argv"] == ["train_fsdp2.py", "$(PATH) $HOME", "it's"]


@needs("accelerate")
def test_pods_train_together_under_accelerate(tmp_path: Path) -> None:
    plan = two_nodes("job", emit=', accelerate { layer_class = "Block" }')
    assert "train_fsdp2.py" in file_of(plan, "accelerate.sh")
    (port,) = free_ports(1)
    pods = Pods(plan, tmp_path, port)
    script = pods.folder / "accelerate.sh"
    script.write_text(script.read_text().replace("train_fsdp2.py", "train_accelerate.py"))
    ranks = pods.run()
    assert [(rank["rank"], rank["world"], rank["sharded"]) for rank in ranks] == [(0, 2, True), (1, 2, True)]


@needs("torch")
def test_the_first_pod_makes_the_record(tmp_path: Path) -> None:
    """Of the plan a pod has what its ConfigMap holds; the record says so, and holds against the plan."""
    analysis = analysed(f"""{(PLANS_FOLDER / "recorded.plan").read_text()}
    plan recorded-by-pods from trained {{
      cluster    {{ gpu = cpu  nodes = 2  gpus_per_node = 1 }}
      batch      {{ global = 8  micro = 4  sequence_length = 8 }}
      emit       = [kubernetes, torchrun]
      checkpoint {{ directory = {literal(f"{tmp_path}/out/ckpt")} }}
      evidence   {{ file = {literal(f"{tmp_path}/out/metrics.jsonl")} }}
      launch     {{ args = [{literal(f"{tmp_path}/out")}]  kubernetes {{ image = "train:1" }} }}
    }}
    """)
    assert errors(analysis) == []
    plan = next(each for each in analysis.plans if each.name == "recorded-by-pods")
    (tmp_path / "files").mkdir()
    (tmp_path / "out").mkdir()
    (port,) = free_ports(1)
    ranks = Pods(plan, tmp_path / "files", port).run()
    assert [rank["rank"] for rank in ranks] == [0, 1]
    (record,) = (tmp_path / "out").glob("recorded-by-pods-*.record.json")
    predicate = json.loads(record.read_text())["predicate"]
    wanted = parts_of_plan(plan, Origin("planc.plan.json"), tuple(dict.fromkeys(files_of(plan))))
    assert {part: predicate[part] for part in wanted} == wanted
