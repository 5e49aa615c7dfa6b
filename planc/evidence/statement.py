"""The record as an in-toto Statement: the files of a checkpoint are its subjects, all else is the predicate.

`schemas/evidence.schema.json` describes it, and `docs/evidence.md` what each part means and does not mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from planc import manifest
from planc.compiler import plan_facts
from planc.evidence import folder as folders
from planc.evidence.canonical import plain
from planc.evidence.checkpoints.found import Found
from planc.evidence.checkpoints.found import as_data as found_data
from planc.evidence.folder import Folder
from planc.evidence.metrics import Metric, as_data
from planc.plan.model import Plan, Unknown
from planc.targets.target import EmittedFile
from planc.version import VERSION

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:planc:evidence:1"

REPRODUCIBILITY = (
    "The run is not claimed to be reproducible bit by bit: over several cards the order in which numbers are summed "
    "depends on timing, also with a fixed seed. What is recorded is what went in and what came out."
)

#: What no record holds, whatever was given.
_NEVER = (
    "that the run was started with these files: this is the plan that was named when the record was made",
    "the state of the machines and of the network",
    "owners, rights and times of files",
)

_WORLD = ("cluster.nodes", "cluster.gpus_per_node", "world.size")
_LAYOUT = (
    "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.expert",
    "parallel.expert_tensor", "parallel.data", "shard.stage", "shard.size", "pipeline", "context", "precision",
    "batch.micro", "batch.accumulation", "batch.global", "batch.sequence_length",
)  # fmt: skip
_SEEDS = ("train.seed",)


class Report(NamedTuple):
    """A file in which the run reported metrics: its name without a folder, how it was read, and what it holds.

    is_cut_short: its last line is, and none of its values counts.
    """

    name: str
    form: str
    size: int
    sha256: str
    metrics: Mapping[str, Metric]
    software: Mapping[str, tuple[str, ...]]
    is_cut_short: bool = False


class Run(NamedTuple):
    """All that a record is made of; `time` only where it was asked for.

    dataset: as `dataset.identity` gives it.
    found: the checkpoints in the folder, by what they say of themselves.
    differing: how they differ from the plan, where that was allowed.
    """

    plan: Plan
    origin: manifest.Origin
    emitted: Sequence[EmittedFile]
    checkpoint: Folder
    dataset: Mapping[str, Any]
    reports: Sequence[Report]
    time: str | None = None
    found: Sequence[Found] = ()
    differing: Sequence[str] = ()


def statement_of(run: Run) -> dict[str, Any]:
    """The record of a run as plain data, the same for the same run."""
    predicate: dict[str, Any] = {
        "planc": VERSION,
        **parts_of_plan(run.plan, run.origin, run.emitted),
        "checkpoint": {
            "num_files": len(run.checkpoint.files),
            "size": run.checkpoint.size,
            "links": [link._asdict() for link in run.checkpoint.links],
            "found": [found_data(found) for found in run.found],
            "differences": list(run.differing),
        },
        "dataset": dict(run.dataset),
        "metrics": [report_data(report) for report in run.reports],
        "software": _software(run.reports),
        "reproducibility": REPRODUCIBILITY,
    }
    predicate["not_recorded"] = [*_missing(predicate, run.reports), *_NEVER]
    if run.time is not None:
        predicate["time"] = run.time
    return {
        "_type": STATEMENT,
        "subject": [_subject(file) for file in run.checkpoint.files],
        "predicateType": PREDICATE,
        "predicate": plain(predicate),
    }


def parts_of_plan(plan: Plan, origin: manifest.Origin, emitted: Iterable[EmittedFile]) -> dict[str, Any]:
    """The parts of the predicate that follow from a plan alone."""
    facts = plan_facts(plan)
    known = {path: facts[path] for path in (*_WORLD, *_LAYOUT, *_SEEDS)}

    def those(paths: tuple[str, ...]) -> dict[str, Any]:
        return {path: known[path] for path in paths if not isinstance(known[path], Unknown)}

    return {
        "plan": {
            "name": plan.name,
            "file": origin.file,
            "settings": list(origin.settings),
            "sha256": manifest.hash_of(plan),
            "resolved": plain(manifest.resolved(plan)),
        },
        "emitted": [
            {"path": file.path, "sha256": manifest.digest(file.text), "executable": file.executable}
            for file in sorted(emitted, key=lambda file: file.path)
        ],
        "seeds": plain(those(_SEEDS)),
        "world": plain(those(_WORLD)),
        "layout": plain(those(_LAYOUT)),
    }


def checkpoint_of(statement: Mapping[str, Any]) -> Folder:
    """The folder that a record speaks of, from plain data of the right form."""
    subjects = (
        {"name": each["name"], "size": each["annotations"]["size"], "sha256": each["digest"]["sha256"]}
        for each in statement["subject"]
    )
    return folders.folder_of(subjects, statement["predicate"]["checkpoint"]["links"])


def report_data(report: Report) -> dict[str, Any]:
    """What a file reported, as the record has it."""
    return {
        "file": report.name,
        "form": report.form,
        "size": report.size,
        "sha256": report.sha256,
        "values": {name: as_data(name, metric) for name, metric in report.metrics.items()},
    }


def _subject(file: folders.File) -> dict[str, Any]:
    return {"name": file.name, "digest": {"sha256": file.sha256}, "annotations": {"size": file.size}}


def _software(reports: Iterable[Report]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for report in reports:
        for name, versions in report.software.items():
            found.setdefault(name, set()).update(versions)
    return {name: sorted(versions) for name, versions in sorted(found.items())}


def _missing(predicate: Mapping[str, Any], reports: Sequence[Report]) -> Iterable[str]:
    """What this record does not hold and another one may."""
    dataset = predicate["dataset"]
    if not predicate["seeds"]:
        yield "a seed: the plan sets no `train.seed`"
    for part in ("name", "version"):
        if part not in dataset:
            yield f"the {part} of the dataset: the plan sets no `dataset.{part}`"
    if "folder" not in dataset:
        told = "a digest is stated, and was compared with nothing" if "digest" in dataset else "no digest is stated"
        yield f"the files of the dataset: {told}"
    elif "digest" in dataset and not dataset["compared"]:
        yield "whether the dataset has the digest that is stated: it is no SHA-256"
    if not predicate["checkpoint"]["found"]:
        yield "what the checkpoint is: it has no format that planc reads"
    if not any(report.metrics for report in reports):
        yield "metrics: no file of them was given"
    for report in reports:
        if report.is_cut_short:
            yield f"the last line of `{report.name}`: it is cut short"
    if not predicate["software"]:
        has_log = any(report.form == "log" for report in reports)
        yield f"versions of software: {'no log reports them' if has_log else 'no log was given'}"
