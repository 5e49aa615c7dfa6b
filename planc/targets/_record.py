"""The record of a run that has `evidence`: the script that makes it at the end, and the plan that goes with the job."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.plan.model import Plan, Record
from planc.targets._faults import example, fault
from planc.targets._launch import written
from planc.targets._shell import render
from planc.targets.target import EmittedFile

SCRIPT = "record.sh"

_LAUNCH = 'emit = [torchrun]  launch { script = "train.py" }'
_DATA = 'dataset { name = "corpus"  version = "1" }'
_SAVED = 'checkpoint { every = 500 steps  directory = "out/ckpt" }'

NO_RECORD = fault(
    "PLN930",
    "record-left-to-you",
    "The plan has `evidence`, and the job cannot make the record at its end.",
    why="a script knows what the plan says: a record lists the files of the checkpoint, and reads the metrics from a "
    "file. Where the plan names no folder on a disk, or no file, the run ends well and without its record.",
    example=example(f'{_LAUNCH}  {_DATA}  evidence {{ metrics = ["loss"]  file = "metrics.jsonl" }}'),
    instead=example(f'{_LAUNCH}  {_DATA}  evidence {{ metrics = ["loss"]  file = "metrics.jsonl" }}  {_SAVED}'),
    fix="write what the help says; or call `record.sh`, which lies beside the launch script, once the run has ended, "
    "with `PLANC_CHECKPOINT=FOLDER` before it and `--metrics FILE` behind it.",
    source="planc attest; docs/evidence.md.",
    versions="planc 0.1.",
    severity=Severity.INFO,
)


def makes_record(plan: Plan) -> bool:
    """Whether the job is to make the record of the run."""
    return isinstance(plan["evidence"].value, Record)


def check_record(plan: Plan) -> Iterator[Diagnostic]:
    """What the script does not learn from the plan."""
    if not makes_record(plan):
        return
    span, folder = plan["evidence"].span, written(plan, "checkpoint.directory")
    if folder is None or "://" in folder:
        message = "the job makes no record: " + (
            "`checkpoint.directory` is not set" if folder is None else f"`{folder}` is no folder of a disk"
        )
        help = ('write `checkpoint { directory = "out/ckpt" }`',)
        yield NO_RECORD.at(span if folder is None else plan["checkpoint.directory"].span, message, help=help)
    metrics = written(plan, "evidence.metrics")
    if metrics and written(plan, "evidence.file") is None:
        message = "the job makes no record: `evidence.file` is not set"
        label = f"nothing says where {either([f'`{name}`' for name in metrics[:3]], 'and')} would be"
        yield NO_RECORD.at(plan["evidence.metrics"].span, message, label, help=('write `file = "metrics.jsonl"`',))


def record_files(plan: Plan) -> tuple[EmittedFile, ...]:
    """`record.sh` and the plan, for a plan with `evidence`; all launchers share them."""
    if not makes_record(plan):
        return ()
    from planc.plan import plain  # it brings in json and hashlib, which a lint does without

    folder = written(plan, "checkpoint.directory")
    script = render("record/record.sh.j2", {"directory": folder, "name": plan.name})
    return (EmittedFile(SCRIPT, script, executable=True), EmittedFile(plain.NAME, plain.text_of(plan)))
