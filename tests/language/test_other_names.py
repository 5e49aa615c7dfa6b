"""What trainers and launchers call a field leads to the field, in whatever block or section it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from planc.plan.schema import DERIVED, SECTIONS, WRITTEN_OTHERWISE, Field
from tests.analysis import analysis_of
from tests.shared import shared

#: Consumer, section, name, field.
NAMES = [
    tuple(line.split())
    for line in (Path(__file__).parent / "other_names.txt").read_text().splitlines()
    if line and not line.startswith("#")
]

#: A body of each section, from a block inwards; `{}` is where the name stands.
FRAMES = {
    "plan": "plan p {{ {} }}",
    "cluster": "cluster c {{ {} }}",
    "gpu": "gpu g {{ {} }}",
    "nics": "cluster c {{ nics {{ {} }} }}",
    "model": "model m {{ {} }}",
    "attention": "model m {{ attention = sliding {{ {} }} }}",
    "experts": "model m {{ experts {{ {} }} }}",
    "ramp": "plan p {{ batch {{ ramp = linear {{ {} }} }} }}",
    "container": "plan p {{ launch {{ container {{ {} }} }} }}",
    "kubernetes": "plan p {{ launch {{ kubernetes {{ {} }} }} }}",
    "schedule": "plan p {{ schedule = cosine {{ {} }} }}",
    "precision": "plan p {{ precision = bf16 {{ {} }} }}",
    "adapter": "plan p {{ adapter = lora {{ {} }} }}",
}

#: Names that mean something in their section only.
ONLY_THERE = ("type",)

SECTION_NAMES = [kind for kind in SECTIONS if kind != "template"]


def paths(kind: str, prefix: str = "") -> dict[str, Field]:
    """Every field below a kind of block, by path."""
    found: dict[str, Field] = {}
    for field in SECTIONS[kind]:
        found[prefix + field.name] = field
        if field.type.form in ("record", "variant", "reference") and field.type.of not in ("plan", "policy"):
            found.update(paths(field.type.of, f"{prefix}{field.name}."))
    return found


FIELDS = paths("plan")
HOMES = {field.type.of: path for path, field in FIELDS.items() if field.type.of} | {"plan": ""}


def unknown(section: str, names: list[str]) -> dict[str, Diagnostic]:
    """What is said about unknown fields of these names in a section, by name."""
    frame = FRAMES.get(section) or f"plan p {{{{ {section} {{{{ {{}} }}}} }}}}"
    body = "\n".join(f"{name} = 1" for name in names)
    found = [one for one in analysis_of(frame.format(f"\n{body}\n")).diagnostics if one.code == "PLN011"]
    return {one.primary.span.text: one for one in found if one.message.startswith("unknown field")}


def suggested(found: Diagnostic, section: str) -> set[str]:
    """The fields that the help names, as paths from a plan; a variant stands for its section."""
    home = HOMES[section]
    names = re.findall(r"`([^`]+)`", found.help[0]) if found.help else []
    whole = set()
    for name in names:
        path = name.partition(" = ")[0]
        inner = f"{home}.{path}" if home else path
        if path == home.rpartition(".")[2] and name.endswith("= ..."):
            whole.add(home)
        else:
            whole.add(inner if inner in FIELDS and f"`{name}` of a plan" not in found.help[0] else path)
    return whole


@pytest.mark.parametrize("section", sorted({section for _, section, _, _ in NAMES} | {"plan"}))
def test_names_lead_to_their_fields(section: str) -> None:
    fields = {field.name for field in SECTIONS[section]}
    expected = {
        name: field
        for _, at, name, field in NAMES
        if (section == at or (section == "plan" and name not in ONLY_THERE)) and name.replace("-", "_") not in fields
    }
    found = unknown(section, list(expected))
    assert {name: field for name, field in expected.items() if field not in suggested(found[name], section)} == {}


def test_in_its_own_section_a_field_is_named_alone() -> None:
    assert unknown("parallel", ["tp"])["tp"].help == ("did you mean `tensor`?",)
    assert unknown("plan", ["tp"])["tp"].help == ("did you mean `parallel.tensor`?",)
    assert unknown("model", ["tp"])["tp"].help == ("did you mean `parallel.tensor` of a plan?",)
    assert unknown("model", ["num_experts"])["num_experts"].help == ("did you mean `experts.count`?",)


def test_a_value_that_is_written_otherwise_is_said_to_be() -> None:
    found = unknown("model", ["untie_embeddings_and_output_weights"])["untie_embeddings_and_output_weights"]
    assert found.help == ("did you mean `tied`?", "it says the opposite: write `tied = false`")


def test_zero_optimization_is_a_section() -> None:
    text = "plan p { zero_optimization { stage = 3 } }"
    (found,) = (one for one in analysis_of(text).diagnostics if "zero" in one.message)
    assert (found.primary.span.text, found.help) == ("zero_optimization", ("did you mean `shard`?",))


@pytest.mark.parametrize("section", SECTION_NAMES)
def test_every_other_name_leads_to_its_field_from_everywhere(section: str) -> None:
    fields = SECTIONS[section]
    # What a section calls its own field means that one, and `params { }` in a variant its settings.
    own = {field.name for field in fields} | {other for field in fields for other in field.also} | {"params"}
    own.update(name.removeprefix(f"{section}.") for name in DERIVED)
    asked: dict[str, set[str]] = {}
    for path, field in FIELDS.items():
        for other in field.also:
            if other not in own and path != HOMES[section]:
                asked.setdefault(other, set()).add(path)
    found = unknown(section, list(asked))
    assert {name: fields for name, fields in asked.items() if not fields <= suggested(found[name], section)} == {}


def test_other_names_are_no_fields_of_their_section_and_folded() -> None:
    for kind, fields in SECTIONS.items():
        names = {field.name for field in fields}
        for field in fields:
            assert len(set(field.also)) == len(field.also)
            for other in field.also:
                assert other not in names, f"{kind}.{field.name}: {other}"
                assert other == other.lower().replace("-", "_")


def test_what_is_written_otherwise_is_another_name() -> None:
    others = {other for field in FIELDS.values() for other in field.also}
    assert set(WRITTEN_OTHERWISE) <= others


#: Words of the columns that are no name of one field here, with the reason.
NO_FIELD = {
    "enabled": "by the section around it: `bf16 { enabled = true }`",
    "enable": "by the section around it: `compile { enable = true }`",
    "optim_grads": "a value", "flex": "a value", "e2m1": "a value", "learned_absolute": "a value", "rowwise": "a value",
    "wsd": "a value", "inverse-sqrt": "a value", "none": "a value", "bias": "the field itself",
}  # fmt: skip

#: What the columns abbreviate.
ABBREVIATED = {
    "--untie-embeddings-...": "untie-embeddings-and-output-weights",
    "-modules": "recompute-modules", "-method": "recompute-method", "-num-layers": "recompute-num-layers",
    "--microbatch-group-size-...": "microbatch-group-size-per-virtual-pipeline-stage",
    "-last-": "decoder-last-pipeline-num-layers",
}  # fmt: skip


def names_of(text: str) -> list[str]:
    """The names in a text of the definition: `a.{b,c}` is `a.b` and `a.c`, of which the last part counts."""
    found = []
    for word in (word for quoted in re.findall(r"`([^`]+)`", text) for word in quoted.split()):
        head, braces, rest = word.partition("{")
        choices, _, tail = rest.partition("}")
        for choice in choices.split(",") if braces else [""]:
            name = ABBREVIATED.get(word, f"{head}{choice}{tail}".removeprefix("--"))
            found.append(name.rpartition(".")[2])
    return found


def test_the_columns_of_the_definition_are_covered() -> None:
    text = (shared(".") / "LANGUAGE.md").read_text(encoding="utf-8")
    section = text[text.index("## 4.") : text.index("## 5.")]
    listed = {name.replace("-", "_").lower() for _, _, name, _ in NAMES}
    columns, asked = 0, []
    for line in section.splitlines():
        cells = line.strip("|").split("|")
        columns = 3 if len(cells) in (5, 6) else 0 if len(cells) == 3 else columns
        asked += [name for cell in cells[columns:] if columns and len(cells) in (5, 6) for name in names_of(cell)]
    assert 150 < len(asked)
    more = section[section.index("**Checked against") :]
    asked += [name for name in names_of(more) if "_" in name or "-" in name]
    missing = {name for name in asked if name.replace("-", "_").lower() not in listed and name not in NO_FIELD}
    assert missing == set()
