"""The files that a launch names: the configurations of its program, and the hosts of the launcher."""

from __future__ import annotations

from collections.abc import Iterator

from planc.native.kinds._options import place_of
from planc.native.saying import Sayer
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.source import Span

#: Options of a program that name a configuration, and the kind that it is of.
FILES = {
    "deepspeed": "deepspeed", "deepspeed_config": "deepspeed", "deepspeed_config_file": "deepspeed",
    "config_file": "accelerate",
}  # fmt: skip

#: How configurations end.
_ENDINGS = (".json", ".yaml", ".yml")


def refer(launch: Launch, sayer: Sayer, made: frozenset[str]) -> None:
    """The configurations that a launch names, but for those that the script makes."""
    for kind, path, place in named(launch):
        if path not in made:
            sayer.refer(path, place, kind)
    hosts = launch.option("hostfile")
    if launch.launcher == "deepspeed" and hosts is not None and hosts.value is not None and hosts.value.known:
        sayer.refer(hosts.value.known, place_of(hosts), "hostfile")
    only = launch.arguments[0] if len(launch.arguments) == 1 else None
    if only is not None and only.known is not None and only.known.endswith(_ENDINGS) and only.known not in made:
        sayer.refer(only.known, outermost(only.origin), None)


def named(launch: Launch) -> Iterator[tuple[str, str, Span]]:
    """The configurations that options name: their kinds, their paths, and where these stand."""
    for option in (*launch.options, *launch.parameters):
        kind = FILES.get(option.name)
        path = option.value.known if option.value is not None else None
        if kind is not None and path is not None and path.endswith(_ENDINGS):
            yield kind, path, place_of(option)
