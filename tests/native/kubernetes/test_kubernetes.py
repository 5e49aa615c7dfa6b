"""Objects of Kubernetes: what they say, what is wrong with their pods, and that no value in them stops planc."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.job import judge
from planc.native.kind import Recognised
from tests.commands.cli import planc
from tests.compiling import file_of, plan_of, read
from tests.native.judging import (
    corpus,
    found_in,
    is_known_good,
    judged,
    loud,
    plan_text,
    recognised,
    with_other_values,
)
from tests.shared import shared
from tests.tables.common import text_of
from tests.tables.kubernetes import tables

FOLDER = Path(__file__).parent
PLANS = sorted((FOLDER.parents[1] / "targets" / "kubernetes").glob("ok_*.plan"))
PYTORCHJOB = (FOLDER / "ok_pytorchjob.yaml").read_text(encoding="utf-8")
TRAINJOB = (FOLDER / "ok_trainjob.yaml").read_text(encoding="utf-8")
JOBSET = (FOLDER / "ok_jobset.yaml").read_text(encoding="utf-8")

#: Errors on files that somebody ran, or so it is said, and why they are right.
TRUE_ERRORS = {
    # Eight cards are requested, and the limit stands there without a number: the API takes it for 0, and refuses.
    "kubernetes/aws-samples_awsome-distributed-training--3.test_cases_pytorch_mosaicml-composer_stable-diffusion_"
    "multi-node_3-1ad51d.yaml-template": {"PLN075"},
}


def test_the_table_is_that_of_the_definitions() -> None:
    for table in tables(shared("consumers/crds")):
        path = FOLDER.parents[2] / "planc" / "native" / "tables" / table["consumer"] / f"{table['version']}.json"
        assert path.read_text(encoding="utf-8") == text_of(table), table["consumer"]


def test_the_script_reads_what_a_definition_says(tmp_path: Path) -> None:
    pod = {"type": "object", "properties": {"containers": {"type": "array", "items": {
        "type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "terminationMessagePath": {"type": "string"}}}}}}  # fmt: skip
    job = {"type": "object", "properties": {
        "completionMode": {"type": "string"}, "template": {
        "type": "object", "properties": {"spec": pod}}}}  # fmt: skip
    replicated = {"type": "array", "items": {"type": "object", "properties": {"template": {
        "type": "object", "properties": {"spec": job}}}}}  # fmt: skip
    for file, name, spec in (
        (
            "pytorchjob.yaml",
            "v1",
            {"n": {"type": "string", "enum": ["a", "b"]}, "m": {"type": "integer", "minimum": 1}},
        ),
        ("trainjob.yaml", "v2", {"x": {"x-kubernetes-int-or-string": True}}),
        ("ctr.yaml", "v2", {"y": {"type": "object", "additionalProperties": {"type": "boolean"}}}),
        ("jobset.yaml", "v3", {"replicatedJobs": replicated}),
    ):
        schema = {"type": "object", "required": ["spec"], "properties": {
            "metadata": {"type": "object"}, "spec": {"type": "object", "properties": spec}}}  # fmt: skip
        version = {"name": name, "storage": True, "schema": {"openAPIV3Schema": schema}}
        (tmp_path / file).write_text(yaml.safe_dump({"spec": {"versions": [version]}}), encoding="utf-8")
    made = {table["consumer"]: table for table in tables(tmp_path)}
    assert (made["pytorchjob"]["version"], made["pytorchjob"]["required"]) == ("v1", ["spec"])
    rows: dict[str, Any] = made["pytorchjob"]["keys"]["spec"]["keys"]
    assert rows["n"] == {"types": ["string", "null"], "words": ["a", "b"]}
    assert rows["m"] == {"types": ["int", "null"], "minimum": 1}
    assert made["trainjob"]["keys"]["spec"]["keys"]["x"] == {"types": ["int", "string", "null"]}
    assert made["trainingruntime"]["keys"]["spec"]["keys"]["y"]["values"] == {"types": ["bool", "null"]}
    assert made["jobset"]["keys"]["spec"]["keys"]["replicatedJobs"]["items"]["keys"]["template"]["keys"] == {
        "spec": {"types": ["object", "null"], "unknown": "open"}
    }
    assert made["pod"]["keys"]["containers"]["items"] == {
        "types": ["object", "null"], "unknown": "open", "required": ["name"],
    }  # fmt: skip
    assert made["container"]["required"] == ["name"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (PYTORCHJOB, ["nodes = 4", "gpus_per_node = 8", 'namespace = "research"', 'OMP_NUM_THREADS = "8"',
                      'image = "registry.example/train:1"', "walltime = 86400 s"]),
        (PYTORCHJOB.replace('  nprocPerNode: "8"\n', ""), ["nodes = 4", "gpus_per_node = 8"]),
        (PYTORCHJOB.replace('nprocPerNode: "8"', "nprocPerNode: auto"), ["nodes = 4", "gpus_per_node = 8"]),
        (TRAINJOB, ["nodes = 4", "gpus_per_node = 8"]),
        (TRAINJOB.replace("    numProcPerNode: 8\n", ""), ["nodes = 4", "gpus_per_node = 8"]),
        (JOBSET, ["nodes = 4", "gpus_per_node = 4"]),
        (JOBSET.replace("replicas: 1", "replicas: 2"), ["nodes = 8"]),
    ],
)  # fmt: skip
def test_what_a_job_says(text: str, lines: list[str]) -> None:
    said = plan_text("x.yaml", text).split("\n")
    assert [line for line in lines if line not in said] == []


def test_what_is_not_known_is_not_said() -> None:
    for text in (
        PYTORCHJOB.replace("replicas: 3", "replicas: $N"),
        JOBSET.replace("parallelism: 4", "parallelism: $N"),
    ):
        assert "nodes" not in plan_text("x.yaml", text)
    assert plan_text("x.yaml", f"{TRAINJOB}---\n{TRAINJOB}").strip() in ("", "}"), "two jobs are two plans"


def test_json_is_read_as_well() -> None:
    objects = list(yaml.safe_load_all(TRAINJOB))
    assert "nodes = 4" in plan_text("job.json", json.dumps(objects[2]))
    objects[2]["spec"]["trainer"]["numNode"] = 4
    assert [each.code for each in found_in("job.json", json.dumps(objects[2]))] == ["PLN062"]


def test_files_of_other_objects_are_none() -> None:
    for text in (
        "apiVersion: v1\nkind: ConfigMap\ndata: {note: PyTorchJob}\n",
        "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {containers: [{name: a, image: b}]}}}\n",
        "kind: JobSet\nname: none of Kubernetes\n",
    ):
        found = recognised("x.yaml", text)
        assert isinstance(found, Diagnostic)
        assert found.code == "PLN061"


def test_against_a_trainer_beside_it() -> None:
    """Two files: nanotron's layout of 64 ranks against 32 cards."""
    text = (FOLDER.parent / "nanotron" / "ok_llama.yaml").read_text(encoding="utf-8")
    pods, trainer = recognised("job.yaml", PYTORCHJOB), recognised("run.yaml", text)
    assert isinstance(pods, Recognised)
    assert isinstance(trainer, Recognised)
    found = loud(judge([pods, trainer], lambda name, importer: f"no file {name}").diagnostics)
    assert [(each.code, each.primary.span.source.name) for each in found] == [("PLN102", "run.yaml")]
    assert "job.yaml" in {label.span.source.name for label in found[0].related}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('nprocPerNode: "8"', "nprocPerNode: 8", "PLN063"),
        ("    Worker:", "    worker:", "PLN062"),
        ("- name: pytorch\n", "- name: trainer\n", "PLN063"),
        ("restartPolicy: ExitCode", "restartPolicy: exitcode", "PLN063"),
    ],
)
def test_a_fix_leaves_nothing_to_say(old: str, new: str, code: str) -> None:
    text = PYTORCHJOB.replace(old, new)
    found = found_in("x.yaml", text)
    assert {each.code for each in found} == {code}
    edits = {(edit.span.start, edit.span.end): edit.text for each in found for edit in each.fixes[0].edits}
    for (start, end), put in sorted(edits.items(), reverse=True):
        text = f"{text[:start]}{put}{text[end:]}"
    assert found_in("x.yaml", text) == ()


def test_a_help_quotes_the_number() -> None:
    (found,) = found_in("x.yaml", PYTORCHJOB.replace('nprocPerNode: "8"', "nprocPerNode: 8"))
    assert found.help == ('write `"8"`',)


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, plan.name) for path in PLANS for plan in read(path).plans],
    ids=lambda each: str(each)[-24:],
)
def test_what_planc_writes_is_read_as_it_was_meant(path: Path, name: str) -> None:
    plan = plan_of(path, name)
    if not plan.emits("kubernetes"):
        pytest.skip("the plan is emitted for others")
    result = judged("kubernetes.yaml", file_of(plan, "kubernetes.yaml"))
    errors = [each for each in result.diagnostics if each.severity is Severity.ERROR]
    assert [(each.code, each.message) for each in errors] == []
    (other,) = result.plans
    for field in ("cluster.nodes", "cluster.gpus_per_node", "launch.kubernetes.namespace"):
        if plan.is_written(field):
            assert other.value(field) == plan.value(field), field


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ok_pytorchjob.yaml", "ok_trainjob.yaml", "ok_jobset.yaml", "ok_job.yaml"])
def test_no_value_stops_planc(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    for what, other in with_other_values(name, text):
        for found in found_in(name, other, "kubernetes"):
            assert found.message, what


@pytest.mark.parametrize(
    "text",
    ["kind: [", "kind: JobSet\n\tspec: 1\n", "a: &x [*x]\n", "kind: 'x\n", "- 1\n---\n- 2\n", "", "---\n---\n"],
)
def test_broken_files_are_told_or_say_nothing(text: str) -> None:
    found = recognised("x.yaml", f"{text}# PyTorchJob", "kubernetes")
    assert isinstance(found, Recognised) is (text in ("", "- 1\n---\n- 2\n", "---\n---\n")), found
    if isinstance(found, Recognised):
        assert judged("x.yaml", text, "kubernetes").composed.ranges == ()


def test_the_corpus() -> None:
    for row, text in corpus("k8s"):
        found = recognised(row["file"], text)
        assert isinstance(found, Recognised), row["file"]
        assert found.kind.name == "kubernetes", row["file"]
        errors = {each.code for each in found_in(row["file"], text) if each.severity is Severity.ERROR}
        if is_known_good(row):
            assert errors == TRUE_ERRORS.get(row["file"], set()), row["file"]


JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: run}
spec:
  template:
    spec:
      restartPolicy: Never
      hostIPC: true
      containers:
      - name: train
        image: registry.example/train:1
        resources: {limits: {nvidia.com/gpu: 8}}
        env: [{name: MICRO, value: "4"}, {name: SECRET, valueFrom: {secretKeyRef: {name: a, key: b}}}]
        command: COMMAND
"""

LINE = "torchrun --standalone --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size 4"


def command(text: str) -> str:
    """A job whose container has a command."""
    return JOB.replace("COMMAND", text)


@pytest.mark.parametrize(
    "text",
    [
        str(LINE.split()).replace("'", '"'),
        f"[{', '.join(LINE.split())}]",
        "\n" + "".join(f"        - '{word}'\n" for word in LINE.split()),
        f"[bash, -c, {LINE}]",
        f'[bash, -c, "{LINE}"]',
        f"[bash, -c, '{LINE}']",
        "\n        - sh\n        - -c\n        - |\n          set -e\n"
        f"          {LINE}".replace(" --out", " \\\n            --out"),
        "\n        - sh\n        - -c\n        - >-\n          " + LINE.replace(" train.py", "\n          train.py"),
        '[bash, -lc, "echo \\"it\'s\\"; ' + LINE + '"]',
        '["/bin/sh", "-c", "' + LINE.replace(" train.py", " \\\n             train.py") + '"]',
        "[bash, -c, '" + LINE.replace(" 4", ' "4"') + "']",
    ],
)  # fmt: skip
def test_words_of_a_command_have_their_places(text: str) -> None:
    job = command(text)
    found = judged("job.yaml", job)
    micro = next(each.said for each in found.composed.ranges if each.said.path == "batch.micro")
    assert micro.text == "4"
    assert micro.value.text == "4"
    assert micro.value.start == job.rindex("4")


def said_of(text: str) -> str | None:
    """The micro batch that the command of a job tells."""
    found = judged("job.yaml", command(text)).composed.ranges
    return next((each.said.text for each in found if each.said.path == "batch.micro"), None)


def test_variables_of_the_container_are_known() -> None:
    start = LINE.removesuffix("4")
    assert said_of(f'[bash, -c, "{start}$MICRO"]') == "4"
    assert said_of(f'[bash, -c, "{start}$(MICRO)"]') == "4"
    words = start.split()
    assert said_of(str([*words, "$(MICRO)"]).replace("'", '"')) == "4"
    for unknown in ("$(SECRET)", "$MICRO", "$(NOWHERE)", "{{ .Values.micro }}"):
        assert said_of(str([*words, unknown]).replace("'", '"')) is None
    assert said_of(f'[bash, -c, "{start}$SECRET"]') is None
    assert said_of(f'[bash, -c, "{start}$$MICRO"]') == "4"  # which is `$MICRO` to the shell


def test_a_file_beside_the_job_is_followed_and_one_in_the_image_is_not_missed(tmp_path: Path) -> None:
    text = command(f"[bash, -c, {LINE} --deepspeed ds.json]")
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    assert planc("lint", "job.yaml", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 8}', encoding="utf-8")
    printed = planc("lint", "job.yaml", "--output-format", "concise", cwd=tmp_path).stdout
    assert printed.startswith("ds.json:1:2: error[PLN071]")


def test_a_job_whose_command_names_no_place_to_meet() -> None:
    job = command("[torchrun, --nnodes=2, --nproc-per-node=8, train.py]").replace(
        "spec:\n  template", "spec:\n  parallelism: 2\n  template", 1
    )
    assert [each.code for each in found_in("job.yaml", job)] == ["PLN070"]
    told = job.replace("env: [", 'env: [{name: PET_RDZV_ENDPOINT, value: "h:1"}, ')
    assert found_in("job.yaml", told) == ()
    assert found_in("job.yaml", job.replace("command:", "args:")) == ()  # the image may start it otherwise


def test_the_program_of_a_container_is_that_of_the_plan() -> None:
    line = LINE.replace("train.py", "--max-restarts 2 train.py") + " --my_own 3"
    said = plan_text("job.yaml", command(f"[bash, -c, {line}]")).split("\n")
    assert {'script = "train.py"', 'args = ["--my_own", "3"]', "restarts = 2"} <= set(said)


MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data:
  ds.json: |
    {
      "train_micro_batch_size_per_gpu": 8,
      "gradient_cliping": 1.0
    }
---
"""


def mounted(path: str, mount: str, volume: str = "{name: config}") -> list[tuple[str, int]]:
    """What is found in a job that has a file of a ConfigMap, and names one."""
    more = f"volumes: [{{name: files, configMap: {volume}}}]\n      hostIPC: true"
    job = command(f"[bash, -c, {LINE} --deepspeed {path}]").replace("hostIPC: true", more, 1)
    job = job.replace("        env:", f"        volumeMounts: [{{name: files, {mount}}}]\n        env:", 1)
    return [(each.code, each.primary.span.line) for each in found_in("job.yaml", MAP + job)]


def test_a_file_of_a_config_map_is_one_of_the_job() -> None:
    found = [("PLN062", 8), ("PLN071", 7)]
    assert sorted(mounted("/config/ds.json", "mountPath: /config")) == found
    assert sorted(mounted("/a/./x.json", "mountPath: /a/x.json, subPath: ds.json")) == found
    assert mounted("/other/ds.json", "mountPath: /config") == []
    assert mounted("/config/other.json", "mountPath: /config") == []
    assert mounted("/config/ds.json", "mountPath: /config", "{name: another}") == []
    assert mounted("/config/ds.json", "mountPath: /config", "{name: config, items: [{key: a, path: b}]}") == []


def test_a_configuration_that_a_container_writes_is_one_of_the_job() -> None:
    script = '{"train_micro_batch_size_per_gpu": 8}'
    lines = ("cat > ds.json <<EOF", script, "EOF", f"{LINE} --deepspeed ds.json")
    text = "\n        - sh\n        - -c\n        - |\n" + "".join(f"          {line}\n" for line in lines)
    (found,) = found_in("job.yaml", command(text))
    assert (found.code, found.primary.span.text) == ("PLN071", '"train_micro_batch_size_per_gpu": 8')


@pytest.mark.parametrize(
    ("written", "severity"), [("auto", Severity.WARNING), ('"8"', Severity.WARNING), ("many", Severity.ERROR)]
)
def test_a_number_of_processes_that_earlier_releases_take_as_a_text_is_no_error(
    written: str, severity: Severity
) -> None:
    found = found_in("job.yaml", TRAINJOB.replace("numProcPerNode: 8", f"numProcPerNode: {written}"))
    assert [each.severity for each in found if each.code == "PLN063"] == [severity]
