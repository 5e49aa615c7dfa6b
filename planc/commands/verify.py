"""`planc verify`: whether a record holds of what is there now. Nothing in the record is believed.

The signature is checked before anything of the record is read. Names in it are compared with those that are found in
the folders that the command line names, and never opened; every file is hashed anew.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from planc.commands import hashing, output, progress
from planc.commands.arguments import Parser, parsed
from planc.commands.attesting import differences_of
from planc.commands.checkpoints import described, looked_at
from planc.commands.compiling import emitted, judge, ready
from planc.commands.evidence_files import content_of, key_in, require_file, require_packages
from planc.commands.files import Files
from planc.commands.output import CannotWork, as_text, quoted
from planc.commands.reading import SET
from planc.commands.reports import hash_of, read_as
from planc.diagnostics.amounts import plural
from planc.diagnostics.text import visible
from planc.evidence import checking, dataset, folder
from planc.evidence.canonical import Unreadable, plain
from planc.evidence.checking import Difference
from planc.evidence.checkpoints.found import found_of
from planc.evidence.envelope import is_signed_by
from planc.evidence.keys import keyid_of, public_key
from planc.evidence.record import MOST_BYTES, Record, read, statement_in
from planc.evidence.statement import checkpoint_of, parts_of_plan, report_data
from planc.manifest import resolved
from planc.plan.model import Plan
from planc.version import VERSION

#: A setting that names no file: a number with its unit, or a word.
_PLAIN_SETTING = re.compile(r"[a-z0-9_.]{1,100}=[A-Za-z0-9_.+-]{1,100}(?: [A-Za-z/]{1,20})?")
_MOST_SETTINGS = 100

#: Differences of one part that are shown; the others are counted.
_MOST_SHOWN = 20


class Outcome(NamedTuple):
    """What was looked at and holds, what differs, and what nobody looked at, with the option that does.

    is_vouched_for: a signature with the key that was named is one of the things that hold.
    """

    held: tuple[str, ...]
    differences: tuple[Difference, ...]
    unchecked: tuple[str, ...]
    is_vouched_for: bool


def run(arguments: list[str]) -> int:
    """Exit status: 0 if all that was checked holds, 1 if something differs, 2 if nothing can be said."""
    options = parsed(parser(), arguments)
    require_packages()
    asked = (options.key, options.checkpoint, options.plan, options.dataset)
    if all(each is None for each in asked) and not options.metrics:
        raise CannotWork(
            "nothing to compare the record with: name `--checkpoint`, `--plan`, `--dataset`, `--metrics` or `--key`"
        )
    if options.plan is not None:
        require_file(options.plan)
    if options.set and options.plan is None:
        raise CannotWork("`--set` sets fields of a plan; name its file with `--plan`")
    try:
        outcome = _outcome(read(content_of(options.record, MOST_BYTES)), options)
    except Unreadable as reason:
        raise CannotWork(f"{quoted(options.record)} cannot be used: {visible(str(reason))}") from None
    if options.output_format == "json":
        output.write(json.dumps(_as_data(outcome), indent=2) + "\n")
    else:
        output.write(_as_text(outcome))
    return 1 if outcome.differences else 0


def parser() -> argparse.ArgumentParser:
    """The command line of `planc verify`."""
    made = Parser(
        prog="planc verify",
        description="Say whether a record holds of what is there now. Exit status: 0 all that was checked holds, 1 "
        "something differs, 2 the record cannot be used.",
    )
    made.add_argument("record", metavar="RECORD", help="the record that `planc attest` wrote")
    made.add_argument("--checkpoint", metavar="DIR", help="folder that has to hold the recorded files and no others")
    made.add_argument("--plan", metavar="FILE", help="plan file that has to give the recorded plan and files")
    made.add_argument("--set", **SET)  # type: ignore[arg-type]
    made.add_argument("--dataset", metavar="DIR", help="folder that has to hold the recorded data and no other")
    made.add_argument(
        "--metrics", action="append", default=[], metavar="METRICS",
        help="file or log that the metrics have to be from; may be repeated",
    )  # fmt: skip
    made.add_argument("--key", metavar="KEY", help="public Ed25519 key (PEM or OpenSSH) that has to have signed it")
    made.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="of diagnostics; default: auto"
    )
    return made


def _outcome(record: Record, options: argparse.Namespace) -> Outcome:
    held, unchecked = [], []
    differences: list[Difference] = []
    forged = _fault_of_signature(record, options)
    if forged and options.key is not None:
        left = ("everything else, as nobody vouches for the record",)
        return Outcome((), (Difference("signature", forged),), left, is_vouched_for=False)
    if forged:
        differences.append(Difference("signature", forged))
    elif options.key is not None:
        held.append(f"signature: by the key {quoted(options.key)}")
    else:
        unchecked.append("who made the record: it is not signed")
    statement = statement_in(record)
    for part, option, found in _compared(statement, options):
        if found is None:
            unchecked.append(f"{part}: {option}")
        else:
            there = list(found)
            differences.extend(there)
            if not there:
                held.append(f"{part}: {option}")
    return Outcome(tuple(held), tuple(differences), tuple(unchecked), is_vouched_for=options.key is not None)


def _fault_of_signature(record: Record, options: argparse.Namespace) -> str:
    """What is wrong with the signature; of a record that has none, only where one was asked for."""
    if options.key is None:
        return "" if record.envelope is None else "it is signed, and was not checked; name the public key with `--key`"
    key = key_in(options.key, public_key)
    if record.envelope is None:
        return "the record is not signed"
    if not is_signed_by(record.envelope, key):
        return f"no signature of it was made with the key {quoted(options.key)} ({keyid_of(key)[:16]})"
    return ""


def _compared(
    statement: dict[str, Any], options: argparse.Namespace
) -> Iterator[tuple[str, str, Iterable[Difference] | None]]:
    """Each part with what was done, or what to do, and its differences; None where nothing was done."""
    predicate = statement["predicate"]
    recorded = checkpoint_of(statement)
    if options.checkpoint is None:
        yield "checkpoint", "name its folder with `--checkpoint`", None
    else:
        found = _measured(options.checkpoint, "checkpoint")
        different = (
            *checking.of_folders("checkpoint", recorded, found),
            *checking.of_checkpoints(predicate["checkpoint"]["found"], looked_at(options.checkpoint).found),
        )
        yield "checkpoint", plural(len(recorded.files), "file"), different
    if options.plan is None:
        yield "plan", "name its file with `--plan`", None
    else:
        differing = list(_of_plan(predicate, options))
        yield "plan", quoted(predicate["plan"]["name"]), differing
        if predicate["plan"]["settings"] and not options.set:
            tried = None if differing else _of_settings(predicate["plan"], options)
            said = "the record says that `--set` was given, and here it is not"
            yield "settings", "with those of the record it is the same plan" if tried == () else said, tried
    data = predicate["dataset"].get("folder")
    if options.dataset is None:
        yield "dataset", "name its folder with `--dataset`" if data else "its files were not recorded", None
    elif data is None:
        stated = predicate["dataset"].get("digest")
        yield "dataset", f"the digest {quoted(stated or '')}", _of_digest(stated, options.dataset)
    else:
        recorded = folder.folder_of(data["files"], data["links"])
        found = _measured(options.dataset, "dataset")
        different = (
            *checking.of_folders("dataset", recorded, found),
            *checking.of_descriptions(predicate["dataset"].get("described", []), described(options.dataset)),
        )
        yield "dataset", plural(len(recorded.files), "file"), different
    yield from _of_metrics(predicate["metrics"], list(dict.fromkeys(options.metrics)))


def _of_metrics(
    recorded: list[dict[str, Any]], names: list[str]
) -> Iterator[tuple[str, str, Iterable[Difference] | None]]:
    """Each file that was named, read anew in the form in which it was; then those that nobody named."""
    seen = set()
    for name in names:
        digest = hash_of(name)
        seen.add(digest)
        same = [each for each in recorded if each["sha256"] == digest]
        pairs = [(each, report_data(read_as(name, each["form"]))) for each in same]
        different = [found for pair in pairs for found in checking.of_metrics(*pair)]
        yield "metrics", quoted(name), different if same else checking.of_reports(recorded, name)
    left = [quoted(each["file"]) for each in recorded if each["sha256"] not in seen]
    if left and names:
        yield "metrics", f"{', '.join(left)}: name with `--metrics`", None
    elif not names:
        yield "metrics", "name their file with `--metrics`" if recorded else "none are recorded", None


def _of_digest(stated: str | None, path: str) -> Iterator[Difference]:
    """Whether a folder has the digest that a record states of data of which it lists no files."""
    if stated is None:
        raise CannotWork("the record lists no files of its dataset, and states no digest that `--dataset` could have")
    found = _measured(path, "dataset")
    fits = dataset.holds(stated, found)
    if fits is None:
        told = f"and its digest {quoted(stated)} is no SHA-256 that `--dataset` could have"
        raise CannotWork(f"the record lists no files of its dataset, {told}")
    if not fits:
        told = f"has the digest sha256:{folder.digest_of(found)}, recorded is {quoted(stated)}"
        yield Difference("dataset", f"{quoted(path)} {told}")


def _measured(path: str, what: str) -> folder.Folder:
    """What a folder holds; what cannot be read of it may be as recorded or not, so that nothing can be said."""
    with progress.shown(what) as show:
        found = hashing.measured(path, show)
    unread = [problem for problem in found.problems if problem.reason.startswith(folder.UNREAD)]
    if unread:
        more = f", and {plural(len(unread) - 1, 'more file')}" if 1 < len(unread) else ""
        reason = unread[0].reason.removeprefix(folder.UNREAD)
        raise CannotWork(f"cannot read {quoted(unread[0].name)} in the {what} {quoted(path)}{more}: {reason}")
    return found


def _of_plan(predicate: dict[str, Any], options: argparse.Namespace) -> Iterator[Difference]:
    name = predicate["plan"]["name"]
    judged = judge(Files(), options.plan, tuple(options.set))
    errors = [found for found in judged.diagnostics if output.is_error(found)]
    if errors:
        output.complain(as_text(errors, output.in_color(options.color, sys.stderr)) + "\n")
        raise CannotWork(f"{quoted(options.plan)} has errors, so there is no plan to compare the record with")
    names = [plan.name for plan in judged.plans]
    if name not in names:
        listing = ", ".join(map(quoted, names)) or "none"
        yield Difference("plan", f"the record is of plan {quoted(name)}, and {quoted(options.plan)} has {listing}")
        return
    found = ready(judged, (name,), ())
    if found.is_faulty():
        output.complain(as_text(filter(output.is_error, found.diagnostics), output.in_color(options.color, sys.stderr)))
        raise CannotWork(f"plan {quoted(name)} of {quoted(options.plan)} cannot be compiled")
    plan = found.plans[0]
    made = parts_of_plan(plan, found.origin, emitted(plan, (), lambda file: False))
    different = [
        *checking.of_plans(predicate, made),
        *checking.of_datasets(predicate["dataset"], dataset.identity(plan, None, None)[0]),
    ]
    checkpoints = [found_of(data) for data in predicate["checkpoint"]["found"]]
    yield from checking.of_fit(predicate["checkpoint"]["differences"], differences_of(plan, checkpoints))
    yield from different
    if different and predicate["planc"] != VERSION:
        yield Difference("planc", f"this is {VERSION}, the record was made by {quoted(predicate['planc'])}")
    settings = predicate["plan"]["settings"]
    if (different or options.set) and settings != list(options.set):
        given = " ".join(f"--set {setting}" for setting in settings) or "no `--set`"
        yield Difference("settings", f"the record was made with {visible(given)}")


def _of_settings(recorded: dict[str, Any], options: argparse.Namespace) -> tuple[Difference, ...] | None:
    """Whether a plan that is as recorded is the same with the settings of the record, which may be invented.

    None if one of them is more than a number or a word: what a record says opens no file.
    """
    settings = tuple(recorded["settings"])
    if _MOST_SETTINGS < len(settings) or any("=" in each and not _PLAIN_SETTING.fullmatch(each) for each in settings):
        return None
    found: tuple[Plan, ...] = ()
    if all("=" in setting for setting in settings):
        found = judge(Files(), options.plan, settings).plans
    if any(plain(resolved(plan)) == recorded["resolved"] for plan in found if plan.name == recorded["name"]):
        return ()
    given = " ".join(f"--set {setting}" for setting in settings)
    told = f"the plan is as recorded without them, and would not be with the record's {visible(given)}"
    return (Difference("settings", told),)


def _as_text(outcome: Outcome) -> str:
    lines = [f"holds: {line}" for line in outcome.held]
    for part in dict.fromkeys(found.part for found in outcome.differences):
        found = [each.message for each in outcome.differences if each.part == part]
        lines.extend(f"differs: {part}: {message}" for message in found[:_MOST_SHOWN])
        if _MOST_SHOWN < len(found):
            lines.append(f"differs: {part}: and {plural(len(found) - _MOST_SHOWN, 'more difference')}")
    lines.extend(f"not checked: {line}" for line in outcome.unchecked)
    if outcome.differences:
        lines.append(f"Found {plural(len(outcome.differences), 'difference')}.")
    elif outcome.is_vouched_for:
        lines.append("Verified: what was checked is as recorded.")
    else:
        lines.append("What was checked is as recorded, by a record that nobody vouches for.")
    return "".join(f"{line}\n" for line in lines)


def _as_data(outcome: Outcome) -> dict[str, Any]:
    return {
        "version": 1,
        "as_recorded": not outcome.differences,
        "verified": not outcome.differences and outcome.is_vouched_for,
        "held": list(outcome.held),
        "differences": [found._asdict() for found in outcome.differences],
        "not_checked": list(outcome.unchecked),
    }
