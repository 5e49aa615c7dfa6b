"""docs/cost-model.md says how far off the cost model is now: `python -m tests.accuracy.page` writes its table."""

from tests.accuracy.page import PAGE, written
from tests.shared import shared


def test_the_page_has_the_figures_of_now():
    shared("facts/tables")
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text
