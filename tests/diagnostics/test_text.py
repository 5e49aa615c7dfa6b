"""Diagnostics as text: the form that people read, and texts that would disturb a terminal."""

import re

from planc.diagnostics.diagnostic import Diagnostic, Fault, Label, Severity
from planc.diagnostics.text import render, visible
from planc.source import Source, Span

FAULT = Fault("PLN101", "indivisible-world-size", Severity.ERROR, "")

PRETRAIN = """\
cluster big {
  nodes         = 8
  gpus_per_node = 8
}

plan pretrain {
  model = llama
  parallel { tensor = 8  pipeline = 3 }
}
"""


def at(source: Source, text: str, label: str = "") -> Label:
    start = source.text.index(text)
    return Label(Span(source, start, start + len(text)), label)


def plain(diagnostic: Diagnostic) -> str:
    return render(diagnostic, color=False)


def fault(label: Label, message: str = "wrong", **rest: object) -> Diagnostic:
    return FAULT.at(label.span, message, label.text, **rest)  # type: ignore[arg-type]


def test_the_form_of_the_style_guide() -> None:
    source = Source("pretrain.plan", PRETRAIN)
    assert plain(
        fault(
            at(source, "tensor = 8  pipeline = 3", "8 x 3 = 24 ranks per replica, 16 ranks left over"),
            "model-parallel size 24 does not divide the world size 64",
            related=(at(source, "gpus_per_node = 8", "8 nodes x 8 GPUs = 64 ranks"),),
            help=("the nearest sizes that fit are `pipeline = 2` and `pipeline = 4`",),
            notes=("every trainer refuses a world with a remainder",),
        )
    ) == (
        "error[PLN101]: model-parallel size 24 does not divide the world size 64\n"
        " --> pretrain.plan:8:14\n"
        "3 |   gpus_per_node = 8\n"
        "  |   ----------------- 8 nodes x 8 GPUs = 64 ranks\n"
        "8 |   parallel { tensor = 8  pipeline = 3 }\n"
        "  |              ^^^^^^^^^^^^^^^^^^^^^^^^ 8 x 3 = 24 ranks per replica, 16 ranks left over\n"
        "  = help: the nearest sizes that fit are `pipeline = 2` and `pipeline = 4`\n"
        "  = note: every trainer refuses a world with a remainder\n"
    )


def test_related_places_in_another_file_name_it_and_line_numbers_are_aligned() -> None:
    plan = Source("plans/pretrain.plan", "\n" * 99 + "plan a { cluster = big }\n")
    cluster = Source("cluster.plan", "cluster big {\n  nodes = 8\n}\n")
    assert plain(fault(at(plan, "cluster = big", "here"), related=(at(cluster, "nodes = 8", "64 ranks"),))) == (
        "error[PLN101]: wrong\n"
        "   --> plans/pretrain.plan:100:10\n"
        "100 | plan a { cluster = big }\n"
        "    |          ^^^^^^^^^^^^^ here\n"
        "   --> cluster.plan:2:3\n"
        "  2 |   nodes = 8\n"
        "    |   --------- 64 ranks\n"
    )


def test_two_places_on_one_line_have_a_row_each() -> None:
    source = Source("a.plan", "x { micro = 3  micro = 2 }")
    first = Label(Span(source, 4, 9), "first written here")
    second = Label(Span(source, 15, 20), "and again here")
    assert plain(fault(second, "`micro` is written twice", related=(first,))).splitlines()[2:] == [
        "1 | x { micro = 3  micro = 2 }",
        "  |     ----- first written here",
        "  |                ^^^^^ and again here",
    ]


def test_a_place_over_several_lines_shows_its_first() -> None:
    source = Source("a.plan", "plan a {\n  x = 1\n}\n")
    assert plain(fault(at(source, "a {\n  x = 1\n}", "this block"))).splitlines()[2:] == [
        "1 | plan a {",
        "  |      ^^^ this block",
    ]


def test_the_place_after_the_last_character_has_one_caret() -> None:
    assert plain(fault(Label(Span(Source("empty.plan", ""), 0, 0), "nothing here"))).splitlines()[2:] == [
        "1 |",
        "  | ^ nothing here",
    ]
    text = "plan a {\n"
    end = Label(Span(Source("open.plan", text), len(text), len(text)), "the file ends")
    assert plain(fault(end)).splitlines()[1:] == [" --> open.plan:2:1", "2 |", "  | ^ the file ends"]


def test_windows_line_ends_are_not_shown() -> None:
    source = Source("a.plan", "plan a {\r\n  nodes = -1\r\n}\r\n")
    assert plain(fault(at(source, "-1"))).splitlines()[2:] == ["2 |   nodes = -1", "  |           ^^"]
    assert "\r" not in plain(fault(Label(Span(source, 8, 10))))


def test_tabs_are_as_wide_above_the_carets_as_in_front_of_them() -> None:
    source = Source("a.plan", "\tx\t=\t1")
    assert plain(fault(at(source, "1"))).splitlines()[2:] == ["1 |     x    =    1", "  |               ^"]
    assert plain(fault(at(source, "x\t="))).splitlines()[3] == "  |     ^^^^^^"


def test_wide_and_combining_characters_keep_carets_in_place() -> None:
    source = Source("a.plan", '"\u8a08\u756b" e\u0301 = 1')  # two characters of two columns, one accent of none
    assert plain(fault(at(source, "1"))).splitlines()[3] == "  |            ^"
    assert plain(fault(at(source, "\u8a08\u756b"))).splitlines()[3] == "  |  ^^^^"


def test_nothing_in_a_plan_reaches_the_terminal_as_a_control() -> None:
    evil = "\x1b[2J\x07\x9b\x7f\u202e\u2066\u200b\u2028\r"
    source = Source(f"{evil}\n.plan", f'x = "{evil}" 1')
    found = fault(at(source, "1", evil), evil, related=(at(source, "x", evil),), help=(evil,), notes=(evil + "\n",))
    text = plain(found)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert text.count("\n") == 7
    assert "\\x1b[2J" in text
    assert "\\u202e" in text
    line, carets = text.splitlines()[2], text.splitlines()[4]
    assert line.index("1", line.rindex('"')) == carets.index("^")


def test_a_long_line_is_cut_around_each_place() -> None:
    text = f"args = [{'0, ' * 100_000}oops{', 0' * 100_000}]"
    source = Source("long.plan", text)
    lines = plain(fault(at(source, "oops", "here"), related=(at(source, "args", "of this"),))).splitlines()
    assert lines[2] == "1 | " + text[:120] + "..."
    assert lines[3] == "  | ---- of this"
    assert lines[4].startswith("1 | ...") and lines[4].endswith("...") and len(lines[4]) == 130
    assert lines[5].index("^^^^ here") == lines[4].index("oops")


def test_a_place_longer_than_what_is_shown_is_cut_with_it() -> None:
    source = Source("long.plan", "x" * 5000)
    lines = plain(fault(at(source, "x" * 5000, "all of it"))).splitlines()
    assert lines[2:] == ["1 | " + "x" * 120 + "...", "  | " + "^" * 120 + " all of it"]


def test_a_huge_message_is_shortened() -> None:
    assert visible("9" * 5000) == "9" * 500 + "..." + "9" * 500


def test_color_changes_nothing_but_the_colour() -> None:
    source = Source("a.plan", PRETRAIN)
    for severity in Severity:
        found = fault(at(source, "tensor = 8", "label"), help=("help",), notes=("note",))._replace(severity=severity)
        colored = render(found, color=True)
        assert re.sub(r"\033\[[0-9;]*m", "", colored) == plain(found)
        assert colored.startswith("\033[1;3")
        assert colored.count("\033[0m") == colored.count("\033[1")
