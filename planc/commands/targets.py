"""`planc targets`: what `planc compile` can write, and the consumer that each was proved against."""

from __future__ import annotations

import argparse

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.plan.schema import ANNOUNCED
from planc.targets import load_target, target_names


def run(arguments: list[str]) -> int:
    """Exit status: 0."""
    parsed(parser(), arguments)
    names = target_names()
    width = max(len(name) for name in names)
    for name in names:
        target = load_target(name)
        output.write(f"{name:<{width}}  {target.summary}\n{'':<{width}}  proved against {target.proved}\n")
        for option in target.options:
            output.write(f"{'':<{width}}  option {option.name}: {option.doc}\n")
        if target.options:
            option = target.options[0]
            output.write(f"{'':<{width}}  as in emit = [{name} {{ {option.name} = ... }}]\n")
    later = ", ".join(sorted(set(ANNOUNCED) - set(names)))
    output.write(f"\nknown, but not written by this version: {later}\n")
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line of `planc targets`."""
    return Parser(prog="planc targets", description="List what planc can write.")
