"""`planc lsp`: a language server for editors, over standard input and output."""

from __future__ import annotations

import argparse
import gc
import sys

from planc.commands.arguments import Parser, parsed
from planc.commands.output import CannotWork


def run(arguments: list[str]) -> int:
    """Exit status: 0 if the editor ended the session as the protocol says, else 1."""
    parsed(parser(), arguments)
    try:
        from planc.commands.serving import serve
    except ImportError as error:  # there is none, or one of another version
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise CannotWork("the language server needs pygls 2; install it with `pip install 'planc[lsp]'`") from error
    # Unlike other commands this one runs for hours. What is loaded by now stays, so nobody need look for garbage in it.
    gc.enable()
    gc.freeze()
    # A thread judges while another answers: the answer should not wait for it longer than this.
    sys.setswitchinterval(0.001)
    return serve()


def parser() -> argparse.ArgumentParser:
    """The options of `planc lsp`."""
    made = Parser(
        prog="planc lsp",
        description="Serve an editor by the language server protocol, over standard input and output. "
        "Needs pygls: pip install 'planc[lsp]'. "
        "Exit status: 0 if the editor ended the session, 1 if it went away, 2 if the server could not be started.",
    )
    made.add_argument("--stdio", action="store_true", help="what many editors add; there is no other way")
    return made
