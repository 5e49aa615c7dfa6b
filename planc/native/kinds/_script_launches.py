"""The launches of a script one by one: which of them certainly run, and what the script has set before each."""

from __future__ import annotations

from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Frame, Script

#: What stands around commands that may not run, or run often.
_DOUBTFUL = ("loop", "if", "case")


def is_certain(script: Script, launch: Launch) -> bool:
    """Whether a launch runs, and once: functions around it are called at one place."""
    way = script.way_to(launch.command)
    return bool(way) and all(
        not command.within(*_DOUBTFUL) and all(_is_called_once(owner, frame) for frame in command.context)
        for owner, command in way
    )


def _is_called_once(script: Script, frame: Frame) -> bool:
    if frame.kind != "function":
        return True
    calls = [command for command in script.commands if command.name == frame.name]
    return len(calls) == 1 and not calls[0].within(*_DOUBTFUL)


def before(script: Script, launch: Launch) -> Script:
    """A script with the variables alone that are exported before a launch, where it is certain that they are."""
    place, exports = outermost(launch.command.span), []
    for owner, _ in script.way_to(launch.command):
        for export in owner.exports:
            span = outermost(export.span)
            if span.source is not place.source or span.start < place.start:
                exports.append(export)
    return script._replace(exports=tuple(exports), commands=())
