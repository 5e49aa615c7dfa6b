"""Tables of measurements: what a cell means, and what is said of one that cannot be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planc.measuring.series import Faulty, Peak, Point, Series, after_warmup
from planc.measuring.tables import MAX_LAYOUTS, read_csv, read_jsonl


def read(reader: Callable[..., tuple[Series, ...]], text: str) -> tuple[Series, ...]:
    """What a table says."""
    return reader("m", enumerate(text.splitlines(keepends=True), 1))


def test_a_table_of_layouts() -> None:
    text = "parallel.tensor,step_time,memory_allocated\n2,12.5,\n4, 900 ms ,61.5 GiB\n2,13.5,1000\n\n"
    two, four = read(read_csv, text)
    assert (two.settings, four.settings) == (("parallel.tensor=2",), ("parallel.tensor=4",))
    assert after_warmup(two, 5) == (12.5, 13.5)  # steps that are not numbered hold no warm-up
    assert after_warmup(four, 5) == (0.9,)
    assert two.peaks == (Peak("allocated", 1000, None),)
    assert four.peaks == (Peak("allocated", 61.5 * 2**30, None),)


def test_numbered_steps_have_a_warmup() -> None:
    (found,) = read(read_csv, "step,step_time\n" + "".join(f"{step},{step}\n" for step in range(100, 108)))
    assert found.points[:2] == (Point(0, 100), Point(1, 101))
    assert after_warmup(found, 5) == (105, 106, 107)


def test_the_same_in_json_lines() -> None:
    text = (
        '{"plan": "a", "step_time": 12.5, "memory_used": "60 GiB", "parallel.tensor": 2, "parallel.sequence": true}\n\n'
        '{"plan": "b", "step_time": "250 ms", "memory_reserved": null}\n'
    )
    first, second = read(read_jsonl, text)
    assert (first.plan, first.settings) == ("a", ("parallel.tensor=2", "parallel.sequence=true"))
    assert (after_warmup(first, 0), first.peaks) == ((12.5,), (Peak("used", 60 * 2**30, None),))
    assert (second.plan, after_warmup(second, 0), second.peaks) == ("b", (0.25,), ())


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 0, "the table is empty"),
        ("\n\n", 0, "the table is empty"),
        ("step_time\n", 0, "the table has no row"),
        ("step,plan\n1,a\n", 1, "no column measures anything; name one of `step_time`, `memory_allocated`"),
        ("step_time,step_tme\n1,2\n", 1, "`step_tme` is no column and no field of a plan; did you mean `step_time`?"),
        ("step_time,step_time\n1,2\n", 1, "the column `step_time` stands there twice"),
        ("step_time\n1,2\n", 2, "the row has 2 cells, the head 1"),
        ("step_time,plan\n1,a\n\n,b\n", 4, "the row measures nothing"),
        ("step_time\nnan\n", 2, "`step_time` is `nan`; write it as in `12.5` (seconds) or `350 ms`"),
        ("step_time\n0\n", 2, "`step_time` is `0`"),
        ("step_time\n-1\n", 2, "`step_time` is `-1`"),
        ("step_time\n12 GiB\n", 2, "`step_time` is a size: `12 GiB`"),
        ("memory_used\n12 s\n", 2, "`memory_used` is a time: `12 s`"),
        ("step,step_time\nlast,1\n", 2, "`step` is no whole number: `last`"),
        ('step_time\n"1\n', 2, "the CSV cannot be read"),
    ],
)
def test_a_fault_of_a_csv_has_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(Faulty) as fault:
        read(read_csv, text)
    assert fault.value.line == line
    assert str(fault.value).startswith(reason)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 0, "the table has no row"),
        ('{"step_time": 1}\n{"step_ti', 2, "the line is no JSON object"),
        ("[1]\n", 1, "the line is no JSON object"),
        ("[" * 100_000, 1, "the line is no JSON object"),
        ('{"step_time": NaN}\n', 1, "`step_time` is `NaN`"),
        ('{"step_time": 1e999}\n', 1, "`step_time` is `1e999`"),
        ('{"step_time": [1]}\n', 1, "`step_time` is no single value"),
        ('{"time": 1}\n', 1, "`time` is no column and no field of a plan"),
        ('{"plan": "a"}\n', 1, "the row measures nothing"),
    ],
)
def test_a_fault_of_json_lines_has_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(Faulty) as fault:
        read(read_jsonl, text)
    assert fault.value.line == line
    assert str(fault.value).startswith(reason)


def test_layouts_are_limited() -> None:
    rows = "".join(f"{size},1\n" for size in range(1, MAX_LAYOUTS + 2))
    with pytest.raises(Faulty, match="more than 1,000 layouts"):
        read(read_csv, "batch.global,step_time\n" + rows)
