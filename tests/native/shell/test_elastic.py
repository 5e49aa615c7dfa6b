"""Launches that start with one node, and take more: where these would not meet, one alone still runs."""

from __future__ import annotations

import pytest

from planc.diagnostics.diagnostic import Severity
from tests.native.judging import found_in


@pytest.mark.parametrize("options", ["--rdzv-backend=c10d --rdzv-endpoint=localhost:6000", "--standalone", ""])
@pytest.mark.parametrize(("nodes", "severity"), [("1:2", Severity.WARNING), ("2:4", Severity.ERROR)])
def test_nodes_that_do_not_meet(options: str, nodes: str, severity: Severity) -> None:
    (found,) = found_in("a.sh", f"#!/bin/bash\ntorchrun --nnodes={nodes} {options} train.py\n")
    assert (found.severity, found.primary.span.line) == (severity, 2)
