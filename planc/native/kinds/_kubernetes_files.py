"""Files that a job of Kubernetes brings along: entries of a ConfigMap beside it that a container has as files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from planc.native import json_tree, toml_tree, yaml_tree
from planc.native.kind import Recognised
from planc.native.kinds import _references, load_kind
from planc.native.kinds._kubernetes_commands import literals_of
from planc.native.kinds._kubernetes_pods import maps
from planc.native.shell.embedded import Embedded
from planc.native.shell.launching import Launch
from planc.native.tree import Map, Scalar, Tree


def named_by(launch: Launch, held: Mapping[str, Scalar]) -> Iterator[Recognised]:
    """The configurations that a launch names, and the job brings along, once each; `held` are its files by path."""
    once = {posixpath.normpath(each.path): each.kind for each in _references.named(launch) if each.kind is not None}
    for path, kind in once.items():
        tree = _tree(held[path]) if path in held else None
        if tree is not None and tree.format in load_kind(kind).formats:
            yield Recognised(tree, load_kind(kind), path=path)


def mounted(tree: Tree, spec: Map, container: Map) -> dict[str, Scalar]:
    """The files that a container has from the ConfigMaps of the same file, by their paths."""
    maps_by_name = dict(_config_maps(tree))
    volumes = {volume.value("name"): volume for volume in maps(spec, "volumes")}
    found: dict[str, Scalar] = {}
    for mount in maps(container, "volumeMounts"):
        volume, at = volumes.get(mount.value("name")), mount.value("mountPath")
        data = maps_by_name.get(volume.value("configMap", "name")) if volume is not None else None
        if data is None or not isinstance(at, str) or volume is None or volume.find("configMap", "items") is not None:
            continue
        for name, value in data.items():
            if mount.find("subPath") is None:
                found[posixpath.normpath(posixpath.join(at, name))] = value
            elif mount.value("subPath") == name:
                found[posixpath.normpath(at)] = value
    return found


def _config_maps(tree: Tree) -> Iterator[tuple[object, dict[str, Scalar]]]:
    """The texts of each ConfigMap, by their keys."""
    for root in tree.roots:
        if not isinstance(root, Map) or root.value("kind") != "ConfigMap":
            continue
        data = root.map("data")
        texts = {
            entry.name: entry.value
            for entry in (data.entries if data is not None else ())
            if isinstance(entry.value, Scalar) and isinstance(entry.value.value, str)
        }
        yield root.value("metadata", "name"), texts


def _tree(scalar: Scalar) -> Tree | None:
    """The tree of a text that stands in another file, at its places there; None where it is none."""
    text = Embedded(scalar.span, tuple(literals_of(scalar, scalar.value)))
    readers = (json_tree,) if text.text.lstrip().startswith("{") else (yaml_tree, toml_tree)
    trees = (reader.read(text) for reader in readers)
    return next((tree for tree in trees if isinstance(tree, Tree) and tree.root is not None), None)
