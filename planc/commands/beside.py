"""What the command line says beside the files of other tools: the cluster, the model, the world, who reads what."""

from __future__ import annotations

import os
from typing import NamedTuple

from planc.commands.files import Files
from planc.commands.output import CannotWork, did_you_mean, quoted
from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic
from planc.native.composing import Parts
from planc.native.job import Beside
from planc.native.kind import Options
from planc.native.saying import quoted as quoted_name
from planc.plan.naming import is_plain, written
from planc.plan.scope import Load
from planc.source import CATALOGUE, Source
from planc.syntax.outline import Outline
from planc.syntax.parse import parse

#: Under which name the composed plan uses the file of an option.
_CLUSTER, _MODEL = "--cluster", "--model"


class Asked(NamedTuple):
    """The options as they were given."""

    cluster: str | None = None
    model: str | None = None
    world: int | None = None
    trainer: str | None = None


def beside(files: Files, asked: Asked, settings: tuple[str, ...]) -> tuple[Beside, Load]:
    """What is known beside the files, and how the plan that is composed of them finds the files of options."""
    sources: dict[str, Source] = {}
    uses: list[str] = []
    blocks = ""
    cluster = model = gpu = None
    if asked.cluster is not None and _is_file(asked.cluster):
        cluster = _block(files, _CLUSTER, asked.cluster, "cluster", sources, uses)
    elif asked.cluster is not None:
        gpu = _card(files, asked.cluster, uses)
    if asked.model is not None:
        model, text = _model(files, asked.model, sources, uses)
        blocks += text
    parts = Parts(tuple(dict.fromkeys(uses)), blocks, cluster, model, gpu)

    def load(name: str, importer: Source | None) -> Source | str:
        return sources[name] if name in sources else files.load(name, importer)

    return Beside(parts, asked.world, settings, Options(asked.trainer)), load


def as_written(parts: Parts, asked: Asked, folder: str) -> Parts:
    """The parts as a plan in a folder refers to them: the files of the options by their paths from there."""
    paths = {option: _path_from(folder, given) for option, given in ((_CLUSTER, asked.cluster), (_MODEL, asked.model))}
    uses = tuple(dict.fromkeys(paths.get(name, name) for name in parts.uses))
    blocks = parts.blocks.replace(quoted_name(_MODEL), quoted_name(paths[_MODEL]))
    return parts._replace(uses=uses, blocks=blocks)


def _path_from(folder: str, asked: str | None) -> str:
    """The path of the file of an option, from a folder; empty if the option names none."""
    if asked is None or not _is_file(asked):
        return ""
    path = asked if os.path.exists(asked) else asked.rpartition(":")[0]
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))


def _is_file(asked: str) -> bool:
    """Whether `FILE` or `FILE:NAME` names a file."""
    return os.path.exists(asked) or os.path.exists(asked.rpartition(":")[0])


def _card(files: Files, asked: str, uses: list[str]) -> str:
    """A card of the catalogue, which stands for a cluster of it."""
    cards = _names(files, "planc/gpus", "gpu")
    if asked not in cards:
        guess = did_you_mean(asked, cards)
        raise CannotWork(f"--cluster {quoted(asked)} is no file and no card of the catalogue{guess}")
    uses.append("planc/gpus")
    return written(asked, False)


def _model(files: Files, asked: str, sources: dict[str, Source], uses: list[str]) -> tuple[str, str]:
    """The name of the model of an option, and a block if it has to be made: of a config.json."""
    if asked.endswith(".json"):
        sources[_MODEL] = _read(files, _MODEL, asked)
        return "given", f'model given from hf("{_MODEL}")\n'
    if not _is_file(asked):
        models = _names(files, "planc/models", "model")
        if asked not in models:
            raise CannotWork(
                f"--model {quoted(asked)} is no file and no model of the catalogue{did_you_mean(asked, models)}"
            )
        uses.append("planc/models")
        return written(asked, False), ""
    return _block(files, _MODEL, asked, "model", sources, uses), ""


def _block(files: Files, option: str, asked: str, kind: str, sources: dict[str, Source], uses: list[str]) -> str:
    """The name of the one block of a kind in a plan file, or of that which stands behind `:`."""
    path, name = asked, ""
    if not os.path.exists(asked):
        path, _, name = asked.rpartition(":")
    source = _read(files, option, path)
    if source not in sources.values():  # one file may hold both
        sources[option] = source
        uses.append(option)
    known = [block.name.text for block in parse(source)[0].blocks if block.kind == kind]
    if name and name not in known:
        raise CannotWork(f"{option}: {quoted(path)} has no {kind} {quoted(name)}{did_you_mean(name, known)}")
    if not known:
        raise CannotWork(f"{option}: {quoted(path)} has no {kind}")
    if not name and 1 < len(known):
        listed = either([quoted(f"{path}:{each}") for each in known])
        raise CannotWork(f"{option}: {quoted(path)} has {len(known)} of them; name one: {listed}")
    chosen = name or known[0]
    return chosen if is_plain(chosen) else written(chosen, True)


def _read(files: Files, option: str, path: str) -> Source:
    reading = files.read(path)
    if isinstance(reading, Diagnostic):
        raise CannotWork(f"{option}: {quoted(path)}: {reading.message}")
    if isinstance(reading, str):
        raise CannotWork(f"{option}: cannot read {quoted(path)}: {reading}")
    return reading


def _names(files: Files, catalogue: str, kind: str) -> list[str]:
    source = files.load(catalogue, None)
    assert isinstance(source, Source) and catalogue.startswith(CATALOGUE)
    return [name for block, name in Outline(source) if block == kind]
