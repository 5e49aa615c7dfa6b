"""The templates of scripts: a value stands where a shell word may stand, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planc.targets._shell import bare, comment, is_bare, render
from tests.compiling import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))
VALUE = re.compile(r"\{\{(.*?)\}\}", re.S)
TAG = re.compile(r"\{%.*?%\}", re.S)


def misplaced(text: str) -> list[str]:
    """The values of a template that stand in quotes, a comment, an expansion or a here-document.

    A `bare` value, a text for a `comment`, or the fixed header may stand in a comment.
    """
    found = []
    text = TAG.sub("", text)
    quote, braces, comment = "", 0, False
    at = 0
    while at < len(text):
        match = VALUE.match(text, at)
        character = text[at]
        if match:
            of_comment = match[1].strip().endswith("| comment")
            plain = of_comment or match[1].strip() == "header" or match[1].strip().endswith("| bare")
            word_starts = text[at - 1] in " \t\n=" or text[:at].endswith(("--", "=("))
            if (
                (comment and not plain)
                or (of_comment and not comment)
                or quote
                or braces
                or not (word_starts or comment)
            ):
                found.append(match[0])
            at = match.end()
            continue
        if comment:
            comment = character != "\n"
        elif quote:
            if character == "\\" and quote == '"':
                at += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "\\":
            at += 1
        elif text.startswith("<<<", at):  # a word follows
            at += 2
        elif text.startswith(("${", "$(", "<<"), at):
            braces += 1 if text[at] == "$" else 100  # no template has a here-document
        elif character in "})" and braces:
            braces -= 1
        elif character == "#" and text[at - 1] in " \t\n":
            comment = True
        at += 1
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_values_stand_at_word_position(path: Path) -> None:
    assert misplaced(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        'echo "{{ x }}"\n',
        "echo '{{ x }}'\n",
        "# {{ x }}\n",
        "echo ${X:-{{ x }}}\n",
        "echo $(cat {{ x }})\n",
        "cat <<E\n{{ x }}\nE\n",
        "echo a{{ x }}\n",
    ],
)
def test_the_test_above_finds_what_it_looks_for(text: str) -> None:
    assert misplaced(text) == ["{{ x }}"]


@pytest.mark.parametrize(
    "text", ["x={{ x }}\n", "echo {{ x }} \\\n  {{ x }}\n", "#SBATCH --{{ x | bare }}\n", "a --b={{ x }}\n"]
)
def test_the_test_above_allows_words(text: str) -> None:
    assert misplaced(text) == []


@pytest.mark.parametrize(
    "text", ["", "a b", "a\nb", "$USER", "a#b", "`id`", "a'b", 'a"b', "a\\b", "a;b", "u\u00fc", "a<b"]
)
def test_bare_refuses_what_a_line_of_sbatch_would_not_keep(text: str) -> None:
    assert not is_bare(text)
    with pytest.raises(ValueError, match="not safe"):
        bare(text)


@pytest.mark.parametrize(
    "text", ["gpu", "nvlink&h100", "[rack1*2|rack2]", "a@b.example", "1-00:00:00", "gpu:h100:8", "%x-%j.out"]
)
def test_bare_passes_what_sbatch_takes(text: str) -> None:
    assert bare(text) == text


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "caf\u00e9", "a\x7f"])
def test_a_comment_refuses_what_would_leave_it(text: str) -> None:
    with pytest.raises(ValueError, match="no line of a comment"):
        comment(text)


def test_a_comment_stands_in_comments_alone() -> None:
    assert misplaced("# {{ x | comment }}\n") == []
    assert misplaced("x={{ x | comment }}\n") == ["{{ x | comment }}"]


def test_a_name_that_the_template_lacks_is_no_empty_text() -> None:
    with pytest.raises(Exception, match="undefined"):
        render("torchrun/torchrun.sh.j2", {})
