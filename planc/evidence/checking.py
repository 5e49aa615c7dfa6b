"""What differs from a record: each difference is one sentence, which names what is meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from planc.diagnostics.amounts import plural
from planc.diagnostics.text import visible
from planc.evidence.canonical import plain
from planc.evidence.checkpoints.found import Found, as_data
from planc.evidence.dataset_info import INFO, Info
from planc.evidence.dataset_info import as_data as info_data
from planc.evidence.folder import Folder
from planc.plan.plain import NAME

#: Letters of a value that a sentence shows.
_MOST_SHOWN = 60


class Difference(NamedTuple):
    """Something that is not as it was recorded; `part` says of what: `checkpoint`, `plan`, `dataset`, ..."""

    part: str
    message: str


def of_folders(part: str, recorded: Folder, found: Folder) -> Iterator[Difference]:
    """What is different in a folder; what could not be measured is."""
    problems = {problem.name: problem.reason for problem in found.problems}
    for name, reason in problems.items():
        yield Difference(part, f"{_quoted(name)}: {reason}")
    before, after = {file.name: file for file in recorded.files}, {file.name: file for file in found.files}
    folders = _folders((*after, *dict(found.links)))
    for name in sorted({*before, *after} - {*problems}):
        old, new = before.get(name), after.get(name)
        if new is None:
            what = "a folder, recorded is a file" if name in folders else "missing"
            yield Difference(part, f"{_quoted(name)} is {what}")
        elif old is None:
            yield Difference(part, f"{_quoted(name)} is not in the record")
        elif old.size != new.size:
            yield Difference(part, f"{_quoted(name)} has {plural(new.size, 'byte')}, recorded are {old.size}")
        elif old.sha256 != new.sha256:
            yield Difference(part, f"{_quoted(name)} has other content: SHA-256 {new.sha256}, recorded is {old.sha256}")
    old_links, new_links = dict(recorded.links), dict(found.links)
    for name in sorted({*old_links, *new_links} - {*problems}):
        if name not in new_links:
            yield Difference(part, f"the link {_quoted(name)} is missing")
        elif name not in old_links:
            yield Difference(part, f"the link {_quoted(name)} is not in the record")
        elif old_links[name] != new_links[name]:
            leads = f"leads to {_quoted(new_links[name])}, recorded is {_quoted(old_links[name])}"
            yield Difference(part, f"the link {_quoted(name)} {leads}")


def _folders(names: Iterable[str]) -> set[str]:
    """Every folder on the way to one of these names."""
    found: set[str] = set()
    for name in names:
        parent = name.rpartition("/")[0]
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return found


def of_checkpoints(recorded: Sequence[Mapping[str, Any]], found: Iterable[Found]) -> Iterator[Difference]:
    """What is different in what checkpoints say of themselves."""
    before = {each["path"]: each for each in recorded}
    after = {each.path: plain(as_data(each)) for each in found}
    for path in sorted({*before, *after}):
        where = f"in {_quoted(path)} " if path else "in the folder "
        if path not in after:
            yield Difference("checkpoint", f"{where}is no checkpoint of a known format, recorded is one")
        elif path not in before:
            yield Difference("checkpoint", f"{where}is a checkpoint of a known format, recorded is none")
        else:
            yield from (Difference("checkpoint", f"{where}{told}") for told in _differing(before[path], after[path]))


def of_descriptions(recorded: Sequence[Mapping[str, Any]], found: Iterable[Info]) -> Iterator[Difference]:
    """What is different in what folders say of their data."""
    before = {each["path"]: leaves(dict(each), "") for each in recorded}
    after = {each.path: leaves(plain(info_data(each)), "") for each in found}
    for path in sorted({*before, *after}):
        where = f"what {_quoted(f'{path}/{INFO}'.lstrip('/'))} says: "
        for told in _differing(before.get(path, {}), after.get(path, {})):
            yield Difference("dataset", f"{where}{told}")


def of_fit(recorded: Sequence[str], made: Sequence[str]) -> Iterator[Difference]:
    """What is different in how the recorded checkpoint differs from the plan."""
    for message in made:
        if message not in recorded:
            yield Difference("checkpoint", f"it is not that of the plan: {message}")
    for message in recorded:
        if message not in made:
            yield Difference("checkpoint", f"it does not differ from the plan as recorded: {_shown(message)}")


def of_plans(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Difference]:
    """What is different in the parts of a predicate that follow from the plan, made anew from a plan."""
    old, new = recorded["plan"], made["plan"]
    if old["name"] != new["name"]:
        yield Difference("plan", f"it is {_quoted(new['name'])}, recorded is {_quoted(old['name'])}")
    differing = list(_differing(leaves(old["resolved"], ""), leaves(new["resolved"], "")))
    yield from (Difference("plan", message) for message in differing)
    if old["resolved"] != new["resolved"] and not differing:
        yield Difference("plan", "what is recorded of it does not have the form that this planc gives it")
    if old["sha256"] != new["sha256"] and not differing:
        yield Difference("plan", f"its SHA-256 is {new['sha256']}, recorded is {old['sha256']}")
    for part in ("seeds", "world", "layout"):
        yield from (Difference(part, message) for message in _differing(recorded[part], made[part]))
    for path, message in _of_emitted(recorded["emitted"], made["emitted"]):
        if path != NAME or not differing:  # it says the same again
            yield Difference("emitted files", message)


def of_datasets(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Difference]:
    """What is different in what the plan says of its dataset; a digest that it does not state is not compared."""
    parts = ("name", "version", *(("digest",) if "digest" in made else ()))
    for part in parts:
        old, new = recorded.get(part), made.get(part)
        if old != new:
            yield Difference("dataset", f"its {part} is {_shown(new)}, recorded is {_shown(old)}")


def of_reports(recorded: Sequence[Mapping[str, Any]], name: str) -> Iterator[Difference]:
    """That a file is none of those that the metrics of a record were read from."""
    known = ", ".join(_quoted(report["file"]) for report in recorded) or "none"
    yield Difference("metrics", f"{_quoted(name)} is none of the files that they were read from: {known}")


def of_metrics(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Difference]:
    """What is different in what a file reports, read anew; its name is the reader's own, and may be another."""
    parts = ("size", "values")
    old, new = ({part: plain(each[part]) for part in parts} for each in (recorded, made))
    for told in _differing(leaves(old, ""), leaves(new, "")):
        yield Difference("metrics", f"of {_quoted(recorded['file'])}, {told}")


def leaves(value: Any, path: str) -> dict[str, Any]:
    """The leaves of a resolved plan, by the path that a plan's text has for them."""
    if not isinstance(value, dict):
        return {path: value}
    if set(value) == {"fraction"}:
        return {path: _number_of(value["fraction"])}
    if set(value) == {"kind", "name", "fields"} and isinstance(value["fields"], dict):
        found = {path: value["name"]}
        value = value["fields"]
    elif "fields" in value and not path:
        found = {"targets": value.get("targets")}
        value = value["fields"]
    else:
        found = {}
    for name, item in value.items():
        found |= leaves(item, f"{path}.{name}" if path else name)
    return found


def _number_of(parts: Any) -> Any:
    """The number that a plan's text has for a fraction of whole numbers, `0.0003` or else `1/3`."""
    if not isinstance(parts, list) or [type(part) for part in parts] != [int, int] or parts[1] < 1:
        return {"fraction": parts}
    above, below = parts
    return above / below if Fraction(repr(above / below)) == Fraction(above, below) else f"{above}/{below}"


def _of_emitted(recorded: list[dict[str, Any]], made: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    before, after = {file["path"]: file for file in recorded}, {file["path"]: file for file in made}
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if new is None:
            yield path, f"{_quoted(path)} is not written for this plan by this planc"
        elif old is None:
            yield path, f"{_quoted(path)} is not in the record"
        elif old["sha256"] != new["sha256"]:
            yield path, f"{_quoted(path)} would be written with other content"
        elif old != new:
            yield path, f"{_quoted(path)} would be written with other rights"


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for path in sorted({*old, *new}):
        if path not in old or path not in new or _differ(old[path], new[path]):
            yield f"`{visible(path)}` is {_shown(new.get(path))}, recorded is {_shown(old.get(path))}"


def _differ(old: Any, new: Any) -> bool:
    return old != new or isinstance(old, bool) is not isinstance(new, bool)


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return _quoted(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}...")


def _quoted(text: str) -> str:
    return f"`{visible(text)}`"
