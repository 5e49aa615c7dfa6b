"""Every model of the catalogue on some cluster: advice ends in a plan without a fault, or in a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.commands import advise, output
from planc.commands.asking import catalogue_names
from planc.commands.files import Files
from planc.compiler import analyse, emit
from planc.diagnostics.diagnostic import Severity
from planc.source import Source

CARDS = catalogue_names(Files(), "gpu")
COUNTS = (1, 2, 8, 16, 24, 64, 512, 1024, 4096)
MODELS = catalogue_names(Files(), "model")

#: Each model once, with a card and a number of cards that come round at different rates.
CASES = [(model, CARDS[at % len(CARDS)], COUNTS[at % len(COUNTS)]) for at, model in enumerate(MODELS)]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "card", "count"), CASES)
def test_advice_ends_in_a_plan_or_in_a_reason(
    model: str, card: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(output, "write", shown.append)
    found = tmp_path / "found.plan"
    status = advise.run(["--model", model, "--gpu", card, "--gpus", str(count), "-o", str(found)])
    text = "".join(shown)
    assert "nan" not in text.split() and "inf" not in text.split()
    if status == 1:
        end = text[text.index("no layout would do") :]
        assert "the least that any layout needs is " in end or "the best that fits is faulty: " in end
        return
    analysis = analyse((Source("found.plan", found.read_text()),), Files().load)
    faults = [each for each in analysis.diagnostics if each.severity is not Severity.INFO]
    assert faults == []
    (plan,) = analysis.plans
    assert emit(plan, lambda choice: True)
