"""Every limit that the reference names: at the limit a file is fine, one beyond it is a diagnostic, and soon."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

from planc.commands.files import Files
from planc.compiler import analyse
from planc.plan.coerce import MAX_ITEMS
from planc.plan.evaluate import MAX_DEPTH, MAX_RESULT_DIGITS
from planc.plan.instance import MAX_CANDIDATES, MAX_FIELDS
from planc.plan.merge import MAX_CHAIN
from planc.plan.quantities import MAX_DIGITS, MAX_EXPONENT
from planc.plan.scope import MAX_USES
from planc.plan.solve import MOST
from planc.readers.config import MAX_DIGITS as MAX_CONFIG_DIGITS
from planc.readers.json_text import MAX_NESTING as MAX_JSON_NESTING
from planc.source import MAX_BYTES, Source
from planc.syntax.lexer import MAX_NESTING
from planc.syntax.parse import MAX_FAULTS
from tests.analysis import analysis_of, analysis_of_file, codes, faults

CARD = "gpu card { memory = 80 GiB  bf16 = true }\n"
BASE = f"""{CARD}cluster one {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
model small {{ layers = 64  hidden = 512  heads = 64  ffn = 512  vocab = 32_000 }}
template base {{ model = small  cluster = one  precision = bf16  batch {{ global = 64  micro = 1 }} }}
"""


def model(layers: str, rest: str = "hidden = 8  heads = 8  ffn = 8  vocab = 8") -> str:
    return f"model m {{ layers = {layers}  {rest} }}\n"


def messages(text: str) -> list[str]:
    return [found.message for found in faults(analysis_of(text))]


def test_file_size(tmp_path: Path) -> None:
    path = tmp_path / "big.plan"
    path.write_bytes(CARD.encode().ljust(MAX_BYTES, b"\n"))
    assert codes(analysis_of_file(path)) == []
    path.write_bytes(CARD.encode().ljust(MAX_BYTES + 1, b"\n"))
    reading = Files().read(str(path))
    assert (getattr(reading, "code", ""), MAX_BYTES) == ("PLN002", 1 << 20)
    assert codes(analysis_of(CARD.ljust(MAX_BYTES + 1))) == ["PLN002"]


def test_nesting() -> None:
    def nested(depth: int) -> str:
        return model("(" * (depth - 1) + "1" + ")" * (depth - 1))  # the block's own brace is one

    assert codes(analysis_of(nested(MAX_NESTING))) == []
    assert codes(analysis_of(nested(MAX_NESTING + 1))) == ["PLN003"]


def test_faults_of_one_text() -> None:
    text = "".join(f"gpu g{number} {{ memory = = 80 GiB }}\n" for number in range(MAX_FAULTS + 10))
    assert codes(analysis_of(text)).count("PLN001") == MAX_FAULTS


def test_list_items() -> None:
    def items(count: int) -> str:
        return "plan p from base { launch { args = [" + '"a", ' * count + "] } }"

    assert messages(BASE + items(MAX_ITEMS)) == []
    assert messages(BASE + items(MAX_ITEMS + 1)) == ["the list has 10,001 items; the limit is 10,000"]


@pytest.mark.parametrize("order", [1, -1])
def test_from_in_a_chain(order: int) -> None:
    def chain(length: int) -> str:
        derived = [f"model m{number} from m{number - 1} {{ }}\n" for number in range(1, length + 1)]
        return "".join(derived[::order]) + model("1").replace("model m", "model m0")

    assert messages(chain(MAX_CHAIN)) == []
    assert messages(chain(MAX_CHAIN + 1)) == ["more than 32 `from` in a chain"]
    # What is derived from a block beyond the limit is not a fault of its own.
    assert messages(chain(500)) == ["more than 32 `from` in a chain"]


def test_from_in_a_circle() -> None:
    circle = "".join(f"model m{number} from m{(number + 1) % 500} {{ }}\n" for number in range(500))
    found = faults(analysis_of(circle + "model n from m3 { }"))
    assert [(one.code, one.message) for one in found] == [("PLN021", "`m0` is derived from itself")]


def use_chain(folder: Path, length: int) -> Path:
    for number in range(length + 1):
        use = f'use "{number + 1}.plan"\n' if number < length else ""
        (folder / f"{number}.plan").write_text(f"{use}gpu g{number} {{ memory = 80 GiB }}\n")
    return folder / "0.plan"


def test_use_in_a_chain(tmp_path: Path) -> None:
    assert codes(analysis_of_file(use_chain(tmp_path, MAX_USES))) == []
    found = faults(analysis_of_file(use_chain(tmp_path, MAX_USES + 1)))
    assert [(one.code, one.message) for one in found] == [("PLN031", "more than 32 `use` in a chain")]
    assert Path(found[0].primary.span.source.name).name == f"{MAX_USES}.plan"
    assert codes(analysis_of_file(use_chain(tmp_path, 3000))) == ["PLN031"]


def test_use_in_a_circle(tmp_path: Path) -> None:
    first = use_chain(tmp_path, 40)
    (tmp_path / "20.plan").write_text('use "0.plan"\n' + CARD)
    assert codes(analysis_of_file(first)) == ["PLN021"]


@pytest.mark.parametrize("operator", ["1 + ", "- ", "2 * "])
def test_operators(operator: str) -> None:
    assert "PLN031" not in codes(analysis_of(model(operator * MAX_DEPTH + "1")))
    assert messages(model(operator * (MAX_DEPTH + 1) + "1")) == ["the expression is more than 200 operators deep"]


def test_operators_of_fields_that_follow_from_each_other() -> None:
    def chain(operators: int) -> str:
        added = " + 1" * operators
        return model(f"hidden{added}", f"hidden = vocab{added}  heads = 1  ffn = 8  vocab = 1")

    assert codes(analysis_of(chain(MAX_DEPTH // 2))) == []
    assert messages(chain(MAX_DEPTH // 2 + 1)) == ["more than 200 operators follow from each other"]


def test_fields_that_follow_from_each_other() -> None:
    assert MAX_FIELDS == 32
    names = [f"A{number}" for number in range(200)]
    deep = "".join(f"cluster {name} {{ groups = [{after}] }}\n" for name, after in pairwise(names))
    text = f"{BASE}{deep}cluster A199 from one {{ }}\nplan p from base {{ cluster = A0 }}"
    assert set(messages(text)) == {"more than 32 fields follow from each other"}
    few = text.replace("A0 { groups = [A1] }", "A0 { groups = [A198] }")
    assert "plan p" not in "".join(messages(few))


def test_a_cluster_that_is_a_group_of_itself() -> None:
    found = faults(analysis_of("cluster c { groups = [d { cpu_cores = 2 }] }\ncluster d { groups = [c] }"))
    assert {one.code for one in found} == {"PLN021"}


def test_written_digits() -> None:
    assert messages(model("1" * MAX_DIGITS)) == []
    assert messages(model("1" * (MAX_DIGITS + 1))) == ["the number has 101 digits; the limit is 100"]


def test_exponent() -> None:
    assert messages(model(f"1e{MAX_EXPONENT}")) == []
    assert messages(model(f"1e{MAX_EXPONENT + 1}")) == ["the exponent is beyond 99"]


def test_digits_of_a_result() -> None:
    assert messages(model(" * ".join(["1e99"] * (MAX_RESULT_DIGITS // 100)))) == []
    start = time.perf_counter()
    square = " * ".join(["layers"] * 190)
    huge = model(" * ".join(["1e99"] * 190), f"hidden = {square}  heads = 8  ffn = 8  vocab = 8")
    assert messages(huge) == ["the result has more than 10,000 digits"]
    assert time.perf_counter() - start < 1


def test_candidates_of_one_field() -> None:
    def tried(last: int) -> list[str]:
        return codes(analysis_of(f"{BASE}plan p from base {{ parallel {{ tensor in 9..{last} }} }}"))

    assert "PLN101" in tried(8 + MAX_CANDIDATES)
    assert tried(9 + MAX_CANDIDATES) == []  # beyond the limit nothing is said of all candidates


def test_candidates_of_several_fields() -> None:
    def tried(pipeline: str) -> list[str]:
        tensor = "2, 9, 10, 11, 12, 13, 14, 15"
        text = f"{BASE}plan p from base {{ parallel {{ tensor in [{tensor}]  pipeline in [{pipeline}] }} }}"
        return codes(analysis_of(text))

    # 8 x 8 pairs are tried together, and none fits; 8 x 9 are too many, and each field alone has a value that fits.
    assert tried("8, 16, 24, 32, 40, 48, 56, 64") != []
    assert tried("8, 16, 24, 32, 40, 48, 56, 64, 1") == []


def test_divisors_that_are_listed() -> None:
    def help(nodes: int) -> tuple[str, ...]:
        text = BASE + f"plan p from base {{ cluster {{ nodes = {nodes} }}  parallel {{ tensor = auto }} }}"
        return next(one.help for one in faults(analysis_of(text)) if one.code == "PLN027")

    assert help(MOST // 8)[0].startswith("write one of `1`, `2`, `4`, `5`, `8`")
    assert help(MOST // 8 + 1) == ("write the value, or the others of its equation",)


def test_every_evaluation_ends_soon() -> None:
    fields = ["layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab"]
    pairs = pairwise(fields)
    chain = " ".join(f"{name} = {after}{' + 1' * 190}" for name, after in pairs)
    start = time.perf_counter()
    found = analyse((Source("case.plan", f"model m {{ {chain}  vocab = 3 }}"),), Files().load).diagnostics
    assert {one.code for one in found} == {"PLN031"}
    assert time.perf_counter() - start < 1


def model_file(folder: Path, config: str) -> list[str]:
    """What is said of a model that is read from a config.json."""
    (folder / "config.json").write_text(config)
    (folder / "m.plan").write_text('model m from hf("config.json") { }\n')
    return [found.message for found in faults(analysis_of_file(folder / "m.plan"))]


GPT2 = (
    '{{"model_type": "gpt2", "n_layer": 1, "n_embd": {}, "n_head": 1, "n_inner": 1, "n_positions": 1, '
    '"vocab_size": 1{}}}'
)


def test_nesting_of_a_model_file(tmp_path: Path) -> None:
    def nested(depth: int) -> str:
        return GPT2.format(1, f', "x": {"[" * (depth - 1)}{"]" * (depth - 1)}')  # the object itself is one

    assert model_file(tmp_path, nested(MAX_JSON_NESTING)) == []
    assert model_file(tmp_path, nested(MAX_JSON_NESTING + 1)) == ["the file cannot be read as JSON"]


def test_digits_of_a_model_file(tmp_path: Path) -> None:
    assert model_file(tmp_path, GPT2.format("1" * MAX_CONFIG_DIGITS, "")) == []
    assert len(model_file(tmp_path, GPT2.format("1" * (MAX_CONFIG_DIGITS + 1), ""))) == 1
