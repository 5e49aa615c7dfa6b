"""The command line: finds the command and turns whatever happens into an exit status.

0: done, warnings allowed. 1: the plans have errors. 2: planc could not do its work. 130: interrupted.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib import import_module

from planc.commands import output
from planc.commands.output import CannotWork

COMMANDS = {
    "lint": "report what is wrong with plans",
    "import": "make a plan of the configurations of other tools",
    "fmt": "give plan files the canonical layout",
    "compile": "write the files that a plan's targets take",
    "explain": "show every derived number with its formula and inputs",
    "advise": "say which split a model needs on a cluster, and end in a plan",
    "calibrate": "compare predictions with what runs measured",
    "diff": "show what changes between two plans, and what that does to every number",
    "attest": "write the record of a run: plan, checkpoint, data and metrics",
    "verify": "say whether a record holds of what is there now",
    "record": "show what differs between the records of two runs",
    "test": "run the cases beside a policy",
    "rule": "show a rule's page, or list the rules",
    "targets": "list what can be written",
    "config": "show the settings that hold, and where each comes from",
    "completion": "print a script for completion in a shell",
    "lsp": "serve an editor by the language server protocol",
}

_HELP = """\
usage: planc COMMAND ...

A linter and compiler for distributed training plans.

commands:
{commands}

options:
  -h, --help   show this text; `planc COMMAND --help` shows a command's
  --version    show the version

exit status: 0 done (warnings allowed), 1 the plans have errors, 2 planc could not do its work
"""


def module_of(command: str) -> str:
    """The module of a command; `import` is a word of Python's."""
    return f"planc.commands.{'import_' if command == 'import' else command}"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status of one run of planc."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        gc.disable()  # this process is ours and short: to look for garbage takes a tenth of its time
    try:
        output.never_fail_to_encode()
        status = _run(arguments)
        output.flush()
    except CannotWork as reason:
        output.complain(f"planc: {reason}\n")
        return 2
    except OSError as error:  # such as a current folder that is gone
        output.complain(f"planc: {error.strerror or error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception:
        from traceback import format_exc

        output.complain(f"{format_exc()}planc: this is a fault of planc, not of your plan; the lines above say where\n")
        return 2
    return status


def _run(arguments: list[str]) -> int:
    command = arguments[0] if arguments else "--help"
    if command in COMMANDS:
        return _status_of(command, arguments[1:])
    if command in ("-h", "--help"):
        listing = "\n".join(f"  {name:<11} {summary}" for name, summary in COMMANDS.items())
        output.write(_HELP.format(commands=listing))
        return 0 if arguments else 2
    if command in ("-V", "--version"):
        from planc.version import VERSION

        output.write(f"planc {VERSION}\n")
        return 0
    raise CannotWork(f"no command {output.quoted(command)}{output.did_you_mean(command, COMMANDS)}; see `planc --help`")


def _status_of(command: str, arguments: list[str]) -> int:
    try:
        status: int = import_module(module_of(command)).run(arguments)
    except SystemExit as stop:  # argparse: 0 after --help, 2 after bad arguments
        return stop.code if isinstance(stop.code, int) else 2
    return status
