"""The keys of Kubernetes' objects, read from their definitions: `python -m tests.tables.kubernetes FOLDER`.

FOLDER holds the `CustomResourceDefinition`s of PyTorchJob (`pytorchjob.yaml`, training operator), of TrainJob and of
ClusterTrainingRuntime (`trainjob.yaml`, `ctr.yaml`, Kubeflow Trainer) and of JobSet (`jobset.yaml`). What they hold of
the core API, a Job, a pod and its containers, is taken once, from that of JobSet: in the other tables it is left open.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from tests.tables.common import Row, write

#: kubectl has the API refuse what it does not know: strict validation, its default since 1.25.
_UNKNOWN = "rejected"

#: A kind of resource: its file, and where the parts of the core API begin in it.
_RESOURCES = {
    "pytorchjob": ("pytorchjob.yaml", ("template",)),
    "trainjob": ("trainjob.yaml", ("affinity", "tolerations", "volumes", "volumeMounts", "env", "envFrom")),
    "trainingruntime": ("ctr.yaml", ("replicatedJobs",)),
    "jobset": ("jobset.yaml", ("template", "volumeClaimPolicies")),
}

#: What is passed over in parts of the core API: tables of their own have it, or nobody misspells it.
_OPEN = ("containers", "initContainers", "ephemeralContainers", "affinity", "topologySpreadConstraints", "template")

#: Texts by names, and what every object has of them; the definitions leave it to the core API.
_TEXTS = {"types": ["object", "null"], "unknown": "open", "values": {"types": ["string", "null"]}}
_METADATA = {"types": ["object"], "unknown": "open", "keys": {"annotations": _TEXTS, "labels": _TEXTS}}

#: Parts of which nothing but their own keys is told.
_SHALLOW = ("securityContext", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_DEPTH = 6


def tables(folder: Path) -> list[Row]:
    """All tables that the definitions of a folder make."""
    made = [_resource(folder, name, *_RESOURCES[name]) for name in _RESOURCES]
    jobset, version = _definition(folder / "jobset.yaml")
    job = jobset["properties"]["spec"]["properties"]["replicatedJobs"]["items"]["properties"]["template"]
    spec = job["properties"]["spec"]
    pod = spec["properties"]["template"]["properties"]["spec"]
    source = f"the definition of JobSet {version}, which holds the core API"
    made.append(_table("job", "v1", source, _row(spec, ("template",), _DEPTH)))
    made.append(_table("pod", "v1", source, _row(pod, _OPEN, _DEPTH)))
    container = pod["properties"]["containers"]["items"]
    made.append(_table("container", "v1", source, _row(container, (), 4)))
    return made


def _resource(folder: Path, name: str, file: str, core: tuple[str, ...]) -> Row:
    schema, version = _definition(folder / file)
    table = _table(name, version, f"its CustomResourceDefinition, {version}", _row(schema, core, 12))
    table["keys"]["metadata"] = _METADATA
    table["keys"]["status"] = {"types": ["object", "null"], "unknown": "open"}  # the controller's to write
    return table


def _definition(path: Path) -> tuple[Row, str]:
    """The schema of the version that a definition serves, and its name."""
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]
    served = [version for version in spec["versions"] if version.get("storage")]
    return served[0]["schema"]["openAPIV3Schema"], served[0]["name"]


def _table(consumer: str, version: str, source: str, row: Row) -> Row:
    table = {"consumer": consumer, "version": version, "source": source, "unknown": _UNKNOWN, "keys": row["keys"]}
    return table | ({"required": row["required"]} if "required" in row else {})


def _row(schema: Row, core: tuple[str, ...], depth: int) -> Row:
    """A schema as a row; below `depth`, and in what the names of `core` hold, anything goes."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"types": ["int", "string", "null"]}
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, core, depth)
    row: Row = {"types": [*_types(kind), "null"]}
    if kind == "array":
        items = schema.get("items", {})
        if depth and items:
            row["items"] = _row(items, core, depth - 1)
        return row
    for own, name in (("minimum", "minimum"), ("maximum", "maximum")):
        if own in schema and kind in ("integer", "number"):
            row[name] = schema[own]
    if "enum" in schema:
        row["words"] = list(schema["enum"])
    return row


def _object(schema: Row, core: tuple[str, ...], depth: int) -> Row:
    row: Row = {"types": ["object", "null"]}
    if "properties" not in schema or not depth:
        values: Any = schema.get("additionalProperties")
        row["unknown"] = "open"
        if isinstance(values, dict) and depth:
            row["values"] = _row(values, core, depth - 1)
        return row
    row["unknown"] = "open" if schema.get("x-kubernetes-preserve-unknown-fields") else _UNKNOWN
    row["keys"] = {}
    for name, below in schema["properties"].items():
        is_left = name in core
        row["keys"][name] = _left(below) if is_left else _row(below, core, 1 if name in _SHALLOW else depth - 1)
    needed = [name for name in schema.get("required", ()) if not _is_defaulted(schema["properties"].get(name, {}))]
    return row | ({"required": needed} if needed else {})


def _is_defaulted(schema: Row) -> bool:
    """Whether the API fills in a key that it calls required."""
    return "default" in schema


def _left(schema: Row) -> Row:
    """A key of which nothing but the type is told."""
    row: Row = {"types": [*_types(schema.get("type")), "null"]}
    return row | ({"unknown": "open"} if schema.get("type") == "object" else {})


def _types(kind: str | None) -> list[str]:
    return {
        "array": ["list"], "object": ["object"], "integer": ["int"], "number": ["float"], "boolean": ["bool"],
        "string": ["string"], None: ["object", "list", "string", "int", "float", "bool"],
    }[kind]  # fmt: skip


if __name__ == "__main__":
    for table in tables(Path(sys.argv[1])):
        write(table)
