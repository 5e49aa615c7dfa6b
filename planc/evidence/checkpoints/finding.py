"""The checkpoints in a folder: names say where they lie and of which format, and a few files what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from planc.diagnostics.amounts import count_text
from planc.diagnostics.text import visible
from planc.evidence.checkpoints import archive, dcp, deepspeed, megatron, safetensors
from planc.evidence.checkpoints.found import Found, Opener, Unread, Unreadable
from planc.evidence.checkpoints.pickled import fields
from planc.evidence.checkpoints.tensors import Count, Tensor, counted

#: Bytes of a file that is one name.
_MOST_NAME = 4096

#: Missing files that are named.
_MOST_NAMED = 3

_WEIGHTS = re.compile(r"(model|pytorch_model|consolidated|adapter_model)(?:-(\d{5})-of-(\d{5}))?\.safetensors")
_STEP = re.compile(r"(?:checkpoint|step|global_step|epoch)[-_](\d{1,18})")

Value = TypeVar("Value")


def found_in(sizes: Mapping[str, int], opened: Opener) -> tuple[Found, ...]:
    """The checkpoints among files, of which the names from their folder and the sizes are given, by their paths."""
    folders: dict[str, dict[str, int]] = {}
    for name, size in sizes.items():
        folder, _, file = name.rpartition("/")
        folders.setdefault(folder, {})[file] = size
    look = _Look(folders, opened)
    found = [each for folder in sorted(folders) for each in look.at(folder)]
    ranks = {folder.rpartition("/")[0] for folder in folders if look.is_rank(folder)}
    return tuple(sorted((*found, *map(look.megatron, sorted(ranks))), key=lambda each: (each.path, each.format)))


def newest(found: tuple[Found, ...], sizes: Mapping[str, int], opened: Opener) -> tuple[Found | None, str]:
    """What a trainer that is told the folder goes on from: what a file names, else the last; or the fault."""
    for name in ("latest", megatron.TRACKER):
        if name in sizes:
            text, *reasons = _attempt(partial(_text, opened, name))
            named = f"iter_{int(text):07d}" if text and re.fullmatch(r"\d{1,18}", text) else text
            chosen = next((each for each in found if each.path == named), None)
            fault = "".join(reasons) or f"names `{visible(text or '')}`, and no checkpoint of that name is there"
            return chosen, "" if chosen else f"`{name}` {fault}"
    return max(found, key=lambda each: (-1 if each.step is None else each.step, each.path), default=None), ""


class _Look:
    """The files of each folder, and how one is opened."""

    def __init__(self, folders: Mapping[str, Mapping[str, int]], opened: Opener) -> None:
        self._folders = folders
        self._opened = opened

    def at(self, folder: str) -> Iterator[Found]:
        files = self._folders[folder]
        names = deepspeed.names(files)
        if names is not None:
            yield self._deepspeed(folder, names)
        if dcp.METADATA in files or any(map(dcp.is_file, files)):
            yield from self._dcp(folder)
        if any(map(_WEIGHTS.fullmatch, files)):
            yield self._safetensors(folder)

    def is_rank(self, folder: str) -> bool:
        return megatron.is_rank(folder.rpartition("/")[2]) and megatron.STATES in self._folders[folder]

    def megatron(self, folder: str) -> Found:
        """A checkpoint of Megatron's older format; its tensors are pickled rank by rank, and not counted."""
        inside = [each for each in self._folders if each.rpartition("/")[0] == folder]
        own = {each.rpartition("/")[2]: each for each in inside if self.is_rank(each)}
        first = f"{own[min(own)]}/{megatron.STATES}"
        content, _, unread = _attempt(partial(self._archive, first))
        stated = megatron.stated(content)
        step = stated.pop("step", megatron.step_of(folder.rpartition("/")[2]))
        notes = ("each of its ranks holds its own shards, so that parameters are not counted", *_unread(first, unread))
        layout = stated or megatron.layout_of(own)
        faults = (
            *_lacking(megatron.missing(own)),
            *self._broken(folder, (f"{each}/{megatron.STATES}" for each in sorted(own))),
        )
        return Found(folder, "megatron", step, None, layout, faults=faults, notes=notes)

    def _deepspeed(self, folder: str, names: deepspeed.Names) -> Found:
        is_universal = any(each.startswith(f"{folder}/zero/".lstrip("/")) for each in self._folders)
        described_by = _joined(folder, names.described_by)
        read, fault, unread = _attempt(partial(self._archive, described_by))
        content = fields(read)
        stated = deepspeed.stated(content)
        step = stated.pop("step", deepspeed.step_of(folder.rpartition("/")[2]))
        layout = dict(names.layout) | stated
        files = self._folders[folder]
        count = deepspeed.counted(content, files, layout["model_parallel"]) if content else Count(None)
        faults = () if is_universal else _lacking(names.missing)
        faults += self._broken(folder, filter(deepspeed.is_states, sorted(files)))
        if not content and not unread and not faults:
            faults = _wrong(names.described_by, fault or "it holds no states of DeepSpeed")
        may_differ = is_universal or deepspeed.shares_in_groups(content)
        for axis, size in () if may_differ else names.layout.items():
            if axis in stated and stated[axis] != size:
                wrote = f"it was written by {count_text(stated[axis])} {_RANKS[axis]}"
                faults = (*faults, f"{wrote}, and has files of {count_text(size)}")
        notes = (*filter(None, (count.note,)), *_unread(described_by, unread))
        format = "deepspeed-universal" if is_universal else "deepspeed"
        return Found(folder, format, step, count.parameters, layout, faults=faults, notes=notes)

    def _dcp(self, folder: str) -> Iterator[Found]:
        """A checkpoint, unless it holds an optimizer alone, as accelerate saves one beside the model."""
        name, own, files = _joined(folder, dcp.METADATA), folder.rpartition("/")[2], self._folders[folder]
        if dcp.METADATA not in files:
            faults = _lacking((dcp.METADATA,))
            yield Found(folder, "dcp", _step_of(own), None, {"writers": dcp.writers(files)}, faults=faults)
            return
        content, fault, unread = _attempt(partial(self._content, name, dcp.MOST_BYTES))
        tensors: tuple[Tensor, ...] | None = None
        if content is not None:
            tensors, fault, unread = _attempt(partial(dcp.read, content))
        # Of what has no files of tensors, a `.metadata` alone tells that it is one: other programs use the name too.
        if not tensors and (not (fault or unread) or not any(map(dcp.is_file, files))):
            return
        layout, step, notes = {"writers": dcp.writers(files)}, _step_of(own), _unread(name, unread)
        faults = (*_wrong(dcp.METADATA, fault), *self._lacking_parts(folder, content or b""))
        if megatron.COMMON in files:
            common = _joined(folder, megatron.COMMON)
            arguments, fault, unread = _attempt(partial(self._archive, common))
            stated = megatron.stated(arguments)
            step = stated.pop("step", megatron.step_of(own))
            layout |= stated
            notes, faults = (*notes, *_unread(common, unread)), (*faults, *_wrong(megatron.COMMON, fault))
        count = counted(tensors) if tensors else Count(None)
        notes = (*filter(None, (count.note,)), *notes)
        yield Found(folder, "dcp", step, count.parameters, layout, faults=faults, notes=notes)

    def _lacking_parts(self, folder: str, content: bytes) -> Iterator[str]:
        """What is not there of the files of tensors: by the list of their parts, or else those that are empty."""
        files = self._folders[folder]
        stored = _attempt(partial(dcp.stored, content))[0] or {name: 1 for name in files if dcp.is_file(name)}
        yield from _lacking(sorted(stored.keys() - files.keys()) if stored else ("__0_0.distcp",))
        short = [name for name in sorted(stored.keys() & files.keys()) if files[name] < stored[name]]
        for name in short[:_MOST_NAMED]:
            size = f"it has {count_text(files[name])} bytes of {count_text(stored[name])}"
            yield from _wrong(name, size if files[name] else "it is empty")
        yield from _more(len(short), "are cut short")

    def _safetensors(self, folder: str) -> Found:
        files = {name: match for name in sorted(self._folders[folder]) if (match := _WEIGHTS.fullmatch(name))}
        kinds = {match[1] for match in files.values()}
        kind = next(kind for kind in ("model", "pytorch_model", "consolidated", "adapter_model") if kind in kinds)
        names = [name for name, match in files.items() if match[1] == kind]
        index = f"{kind}.safetensors.index.json"
        wanted, places, fault, unread = self._wanted(folder, index, names)
        faults, notes = [*_lacking(sorted(wanted - {*names})), *_wrong(index, fault)], [*_unread(index, unread)]
        tensors: list[Tensor] = []
        is_whole = True
        for name in names:
            path = _joined(folder, name)
            held, fault, unread = _attempt(partial(self._tensors, path))
            tensors += held or ()
            faults += _wrong(name, fault)
            notes += _unread(path, unread)
            lacks = set() if held is None else places.get(name, set()) - {tensor.name for tensor in held}
            faults += _wrong(name, f"the index has tensor `{visible(min(lacks))}` in it" if lacks else "")
            is_whole = is_whole and held is not None
        count = counted(tensors) if is_whole and not faults else Count(None)
        notes += [count.note] if count.note else []
        step = _step_of(folder.rpartition("/")[2])
        is_adapter = kind == "adapter_model"
        return Found(folder, "safetensors", step, count.parameters, {}, is_adapter, tuple(faults), tuple(notes))

    def _wanted(self, folder: str, index: str, names: list[str]) -> tuple[set[str], dict[str, set[str]], str, str]:
        """The files that there have to be, by the index or else by their numbers; the tensors of each; two reasons."""
        if index in self._folders[folder]:
            path = _joined(folder, index)
            files, fault, unread = _attempt(
                lambda: safetensors.files_of_index(self._content(path, safetensors.MOST_INDEX))
            )
            places: dict[str, set[str]] = {}
            for tensor, file in (files or {}).items():
                places.setdefault(file, set()).add(tensor)
            return {*places}, places, fault, unread
        match = _WEIGHTS.fullmatch(names[0])
        total = int(match[3]) if match and match[3] else 0
        numbered = {f"{match[1]}-{number:05d}-of-{total:05d}.safetensors" for number in range(1, total + 1) if match}
        return numbered, {}, "", ""

    def _tensors(self, path: str) -> tuple[Tensor, ...]:
        folder, _, name = path.rpartition("/")
        with self._opened(path) as file:
            return safetensors.read(file, self._folders[folder][name])

    def _broken(self, folder: str, names: Iterable[str]) -> tuple[str, ...]:
        """What is wrong with archives in a folder, of which the ends are looked at."""
        found = [
            fault for name in names for fault in _wrong(name, _attempt(partial(self._check, _joined(folder, name)))[1])
        ]
        return (*found[:_MOST_NAMED], *_more(len(found), "are broken"))

    def _check(self, path: str) -> None:
        with self._opened(path) as file:
            archive.check(file)

    def _archive(self, path: str) -> Any:
        with self._opened(path) as file:
            return archive.read(file)

    def _content(self, path: str, limit: int) -> bytes:
        with self._opened(path) as file:
            content = file.read(limit + 1)
        if limit < len(content):
            raise Unread(f"it is larger than {limit >> 20} MiB")
        return content


_RANKS = {"model_parallel": "model-parallel ranks", "sharing": "sharing ranks"}


def _attempt(read: Callable[[], Value]) -> tuple[Value | None, str, str]:
    """What is read; or None, and either what is wrong with the file, or why one that may be whole was not read."""
    try:
        return read(), "", ""
    except Unread as reason:
        return None, "", visible(str(reason))
    except Unreadable as reason:
        return None, visible(str(reason)), ""
    except OSError as error:  # a disk that fails meanwhile
        return None, "", visible(str(error.strerror or error).lower())


def _unread(name: str, reason: str) -> tuple[str, ...]:
    return (f"`{visible(name)}` is not read: {reason}",) if reason else ()


def _wrong(name: str, fault: str) -> tuple[str, ...]:
    return (f"`{visible(name)}`: {fault}",) if fault else ()


def _more(count: int, what: str) -> tuple[str, ...]:
    return (f"and {count_text(count - _MOST_NAMED)} more {what}",) if _MOST_NAMED < count else ()


def _text(opened: Opener, name: str) -> str:
    with opened(name) as file:
        return file.read(_MOST_NAME).decode("utf-8", "replace").strip()


def _step_of(folder: str) -> int | None:
    match = _STEP.fullmatch(folder)
    return int(match[1]) if match else None


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _lacking(names: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    shown = tuple(f"`{visible(name)}` is missing" for name in names[:_MOST_NAMED])
    return (*shown, *_more(len(names), "are"))
