"""The keys of Kubernetes' objects, read from their definitions: `python -m tests.tables.kubernetes FOLDER`.

FOLDER holds the `CustomResourceDefinition`s of PyTorchJob (`pytorchjob.yaml`, training operator), of TrainJob and of
ClusterTrainingRuntime (`trainjob.yaml`, `ctr.yaml`, Kubeflow Trainer) and of JobSet (`jobset.yaml`). What they hold of
the core API, a Job, a pod and its containers, is taken once, from that of JobSet, into tables of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from tests.tables.common import Row, write

#: kubectl has the API refuse what it does not know: strict validation, its default since 1.25.
_UNKNOWN = "rejected"

#: A kind of resource, and the file of its definition.
_RESOURCES = {
    "pytorchjob": "pytorchjob.yaml",
    "trainjob": "trainjob.yaml",
    "trainingruntime": "ctr.yaml",
    "jobset": "jobset.yaml",
}

#: Keys that only a Job, a pod and a container of the core API have; each of these has a table of its own.
_PARTS = ("completionMode", "containers", "terminationMessagePath")

#: Texts by names, and what every object has of them; the definitions leave it to the core API.
_TEXTS = {"types": ["object", "null"], "unknown": "open", "values": {"types": ["string", "null"]}}
_METADATA = {"types": ["object", "null"], "unknown": "open", "keys": {"annotations": _TEXTS, "labels": _TEXTS}}


def tables(folder: Path) -> list[Row]:
    """All tables that the definitions of a folder make."""
    made = []
    for name, file in _RESOURCES.items():
        schema, version = _definition(folder / file)
        row = _keys(schema)
        row["keys"]["metadata"] = _METADATA
        row["keys"]["status"] = {"types": ["object", "null"], "unknown": "open"}  # the controller's to write
        made.append(_table(name, version, f"its CustomResourceDefinition, {version}", row))
    jobset, version = _definition(folder / "jobset.yaml")
    job = jobset["properties"]["spec"]["properties"]["replicatedJobs"]["items"]["properties"]["template"]
    spec = job["properties"]["spec"]
    pod = spec["properties"]["template"]["properties"]["spec"]
    source = f"the definition of JobSet {version}, which holds the core API"
    made.append(_table("job", "v1", source, _keys(spec)))
    made.append(_table("pod", "v1", source, _keys(pod)))
    made.append(_table("container", "v1", source, _keys(pod["properties"]["containers"]["items"])))
    return made


def _definition(path: Path) -> tuple[Row, str]:
    """The schema of the version that a definition stores, and its name."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    spec = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)["spec"]
    stored = next(version for version in spec["versions"] if version.get("storage"))
    return stored["schema"]["openAPIV3Schema"], stored["name"]


def _table(consumer: str, version: str, source: str, row: Row) -> Row:
    table = {"consumer": consumer, "version": version, "source": source, "unknown": _UNKNOWN, "keys": row["keys"]}
    return table | ({"required": row["required"]} if "required" in row else {})


def _row(schema: Row) -> Row:
    """A schema as a row. The API takes null for a key that is not there."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"types": ["int", "string", "null"]}
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    row: Row = {"types": [*_types(kind), "null"]}
    if kind == "array" and "items" in schema:
        row["items"] = _row(schema["items"])
    if kind in ("integer", "number"):
        row |= {name: schema[name] for name in ("minimum", "maximum") if name in schema}
    if "enum" in schema:
        row["words"] = list(schema["enum"])
    return row


def _object(schema: Row) -> Row:
    properties = schema.get("properties")
    if properties is None:
        row: Row = {"types": ["object", "null"], "unknown": "open"}
        values = schema.get("additionalProperties")
        return row | ({"values": _row(values)} if isinstance(values, dict) else {})
    if any(key in properties for key in _PARTS):
        needed = _required(schema)
        row = {"types": ["object", "null"], "unknown": "open"}
        return row | ({"required": needed} if needed else {})
    return {"types": ["object", "null"], **_keys(schema)}


def _keys(schema: Row) -> Row:
    """What a row says of the keys of an object, the object itself being whatever it is."""
    properties = schema["properties"]
    rows = {name: _METADATA if _is_metadata(name, below) else _row(below) for name, below in properties.items()}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields")
    found: Row = {"unknown": "open" if is_open else _UNKNOWN, "keys": rows}
    needed = _required(schema)
    return found | ({"required": needed} if needed else {})


def _is_metadata(name: str, schema: Row) -> bool:
    return name == "metadata" and "properties" not in schema


def _required(schema: Row) -> list[str]:
    """Keys that have to be there; the API fills in those that have a default."""
    properties = schema["properties"]
    return [name for name in schema.get("required", ()) if "default" not in properties.get(name, {})]


def _types(kind: str | None) -> list[str]:
    return {
        "array": ["list"], "integer": ["int"], "number": ["float"], "boolean": ["bool"], "string": ["string"],
        None: ["object", "list", "string", "int", "float", "bool"],
    }[kind]  # fmt: skip


if __name__ == "__main__":
    for table in tables(Path(sys.argv[1])):
        write(table)
