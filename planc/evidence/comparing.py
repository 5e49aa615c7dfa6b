"""What differs between two records: configuration, files that it gives, data, model, metrics, software."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from planc.evidence.canonical import plain
from planc.evidence.checking import leaves
from planc.plan.plain import NAME

#: Parts of a comparison, in the order in which they are shown.
PARTS = ("configuration", "emitted files", "dataset", "checkpoint", "metrics", "software", "planc")

#: Values of a metric that are compared, in the order in which they are shown.
_VALUES = ("final", "best", "lowest", "highest")

#: What is added where a file can be run.
_RUNS = {True: ", executable", False: ""}


class Change(NamedTuple):
    """Something that is not the same in both; a side on which it is not there has None.

    name: what it is: the path of a field, the name of a file or of a metric.
    difference: second minus first, of numbers of metrics.
    """

    part: str
    name: str
    before: Any
    after: Any
    difference: float | None = None


def changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Change, ...]:
    """What differs between two statements of the right form, in the order of `PARTS`."""
    before, after = first["predicate"], second["predicate"]
    return tuple(change for part in PARTS for change in _OF_PART[part](first, second, before, after))


def _of(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        was, is_now = old.get(name), new.get(name)
        if was != is_now or isinstance(was, bool) is not isinstance(is_now, bool):
            yield Change(part, name, was, is_now)


def _configuration(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    old, new = (_of_plan(predicate) for predicate in (before, after))
    told = tuple(_of("configuration", old, new))
    yield from told or _of("configuration", _following(before), _following(after))


def _following(predicate: Mapping[str, Any]) -> dict[str, Any]:
    """What follows from the fields of the plan: of the same fields it differs where another planc worked it out."""
    return {"SHA-256 of the plan": predicate["plan"]["sha256"], **{
        path: value for part in ("seeds", "world", "layout") for path, value in predicate[part].items()
    }}  # fmt: skip


def _of_plan(predicate: Mapping[str, Any]) -> dict[str, Any]:
    plan = predicate["plan"]
    # A section is called as its field is: that it is there is seen by what is in it.
    fields = {path: value for path, value in leaves(plan["resolved"], "").items() if value != path.rpartition(".")[2]}
    return {**fields, "name": plan["name"]}


def _emitted(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    old, new = (
        {file["path"]: f"sha256:{file['sha256']}{_RUNS[file['executable']]}" for file in predicate["emitted"]}
        for predicate in (before, after)
    )
    for change in _of("emitted files", old, new):
        if change.name != NAME or _of_plan(before) == _of_plan(after):  # it says the same again
            yield change


def _dataset(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    old, new = (_of_dataset(predicate["dataset"]) for predicate in (before, after))
    yield from _of("dataset", old, new)


def _of_dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    found = {part: dataset[part] for part in ("name", "version", "digest") if part in dataset}
    if "compared" in dataset:
        found["digest compared with the files"] = dataset["compared"]
    if "folder" in dataset:
        found["digest of the files"] = f"sha256:{dataset['folder']['sha256']}"
        found |= _files(dataset["folder"]["files"], dataset["folder"]["links"])
    for described in dataset.get("described", ()):
        path = f"{described['path']}/dataset_info.json".lstrip("/")
        said = leaves({key: value for key, value in described.items() if key != "path"}, "")
        found |= {f"{path} {key}": value for key, value in said.items()}
    return found


def _checkpoint(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    old, new = (
        {**_said(predicate["checkpoint"]), **_files(_subjects(statement), predicate["checkpoint"]["links"])}
        for statement, predicate in ((first, before), (second, after))
    )
    yield from _of("checkpoint", old, new)


def _subjects(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": each["name"], "sha256": each["digest"]["sha256"], "size": each["annotations"]["size"]}
        for each in statement["subject"]
    ]


def _said(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """What the checkpoints say of themselves; one that is alone goes without its folder, often that of its step."""
    found: dict[str, Any] = {"files": checkpoint["num_files"], "size": checkpoint["size"]}
    if checkpoint["differences"]:
        found["differs from the plan"] = "; ".join(checkpoint["differences"])
    alone = len(checkpoint["found"]) == 1
    for each in checkpoint["found"]:
        start = "" if alone or not each["path"] else f"{each['path']} "
        plain_parts = {key: each[key] for key in ("format", "step", "parameters") if key in each}
        sizes = {f"layout.{axis}": size for axis, size in each["layout"].items()}
        found |= {f"{start}{key}": value for key, value in (plain_parts | sizes).items()}
    return found


def _files(files: list[dict[str, Any]], links: list[dict[str, Any]]) -> dict[str, Any]:
    """Files and links by their names; the content of each as one text."""
    contents = {f"`{each['name']}`": f"{each['size']} bytes, sha256:{each['sha256']}" for each in files}
    return contents | {f"`{each['name']}`": f"link to `{each['target']}`" for each in links}


def _metrics(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    old, new = _by_name(before["metrics"]), _by_name(after["metrics"])
    for name in sorted({*old, *new}):
        was, is_now = old.get(name, {}), new.get(name, {})
        counts = [(each.get("count"), each.get("not_finite", {}).get("count")) for each in (was, is_now)]
        for what, *pair in zip(("values", "values not finite"), *counts, strict=True):
            if pair[0] != pair[1]:
                yield Change("metrics", f"{name} {what}", pair[0], pair[1])
        for value in _VALUES:
            pair = [each[value]["value"] if value in each else None for each in (was, is_now)]
            if pair[0] != pair[1]:
                yield Change("metrics", f"{name} {value}", pair[0], pair[1], _difference(pair[0], pair[1]))
            steps = [each[value].get("step") if value in each else None for each in (was, is_now)]
            if steps[0] != steps[1]:
                yield Change("metrics", f"{name} {value} step", steps[0], steps[1])


def _by_name(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Values by the name of the metric, and by that of the file only where several report it: it may be any."""
    names = [name for report in reports for name in report["values"]]
    return {
        name if names.count(name) == 1 else f"{report['file']}: {name}": values
        for report in reports
        for name, values in report["values"].items()
    }


def _difference(old: Any, new: Any) -> float | None:
    if not all(isinstance(each, int | float) for each in (old, new)):
        return None
    difference = new - old
    return difference if math.isfinite(difference) else None


def _software(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    old, new = (
        {name: ", ".join(versions) for name, versions in predicate["software"].items()} for predicate in (before, after)
    )
    yield from _of("software", old, new)


def _planc(first: Any, second: Any, before: Any, after: Any) -> Iterator[Change]:
    yield from _of("planc", {"version": before["planc"]}, {"version": after["planc"]})


_OF_PART = {
    "configuration": _configuration, "emitted files": _emitted, "dataset": _dataset, "checkpoint": _checkpoint,
    "metrics": _metrics, "software": _software, "planc": _planc,
}  # fmt: skip


def as_data(found: tuple[Change, ...]) -> dict[str, Any]:
    """A comparison as plain data."""
    return {"version": 1, "differs": bool(found), "changes": [plain(change._asdict()) for change in found]}
