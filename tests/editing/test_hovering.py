"""What is shown of the word under the pointer."""

from __future__ import annotations

import pytest

from tests.editing.shown import PARTS, PLAN, hovered

BODY = """\
  parallel  { tensor = 2  data = auto }
  batch     { global = 64  micro = 1  sequence_length = 8Ki }
  precision = bf16
  shard     { stage = 3 }
  policies  = [house]
  launch    { walltime = 24 h  env { A = "b" } }
  emit      = [deepspeed { trainer = hf }]
}
"""
RUN = PLAN + BODY

CASES = {
    "a field": (RUN.replace("tensor =", "ten|sor ="), "ranks that split each layer", "`tp`", "count, at least 1",
                "In `run`: `2` (written)"),
    "a solved field": (RUN.replace("data = auto", "da|ta = auto"), "In `run`: `8` (worked out)"),
    "auto": (RUN.replace("data = auto", "data = au|to"), "worked out from the other fields", "`8` (worked out)"),
    "an inherited field": (PLAN + "parallel { tensor = model.la|yers } }", "In `run`: `8` (inherited)"),
    "a default": (PLAN + "  batch { glob|al = 1Mi tokens } }", "required", "Units:", "`tokens`"),
    "another value": (RUN.replace("sequence_length = 8Ki", "sequence_length = 8|Ki"), "`8Ki` = `8192`"),
    "a bandwidth": (PARTS.replace("400 Gbit/s", "400 |Gbit/s"), "`400 Gbit/s` = `50 GB/s`"),
    "a variant": (RUN.replace("= bf16", "= b|f16"), "dtype of matrix products", "`gradients`"),
    "a model": (PARTS.replace("model = small", "model = sm|all"), "model `small`", "case.plan",
                "`model.total_parameters`: `199_771_136 parameters`"),
    "a model of the catalogue": (PLAN + "model = llama-3-8|b", "planc/models", "8_030_261_248 parameters"),
    "a cluster": (PARTS.replace("cluster pair", "cluster pa|ir"), "`world.size`: `16 ranks`", "50 GB/s"),
    "a card": (PARTS.replace("gpu card", "gpu ca|rd"), "`bf16`: `989 TFLOPS`", "80 GiB"),
    "a plan": (RUN.replace("plan run", "plan ru|n"), "from `base`", "`parallel.data`: `8`", "`memory.total`"),
    "a template": (RUN.replace("from base", "from ba|se"), "template `base`", "`model`: `small`"),
    "a policy": (RUN.replace("[house]", "[ho|use]"), "`forbid precision == fp16`"),
    "a target": (RUN.replace("[deepspeed", "[deep|speed"), "ds_config.json", "`trainer`"),
    "an option": (RUN.replace("trainer =", "train|er ="), "who reads the file"),
    "a used file": (PARTS.replace('"planc/gpus"', '"planc/|gpus"'), "planc/gpus", "21 gpus"),
    "a file that is not there": ('use "no|pe.plan"\n', "cannot be used", "no such file"),
    "a kind": (PARTS.replace("gpu card", "g|pu card"), "a card"),
    "a function": (PLAN + "batch { micro = mi|n(1, 2) } }", "the least of its values"),
    "a path": (RUN.replace("tensor = 2", "tensor = cluster.no|des"), "machines in the job", "In `run`: `2`"),
    "a derived number": (RUN + "policy more { require memory.head|room > 3 % }", "Formula: free / capacity"),
    "several derived numbers": (RUN + "policy more { require mem|ory.headroom > 3 % }", "`memory.total`"),
    "a derived number of a plan": (RUN.replace("[house]", "[more]") + "policy more { warn memory.head|room > 3 % }",
                                   "In `run`: `"),
    "a word in a condition": (PARTS.replace("== fp16", "== f|p16"), "dtype of matrix products"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_shown(case: tuple[str, ...]) -> None:
    text, *wanted = case
    shown = hovered(text)
    assert [part for part in wanted if part not in shown] == [], shown


@pytest.mark.parametrize(
    "text", [PARTS.replace("{", "|{", 1), "# a comm|ent\n", "|", "plan run { nonsen|se", RUN + "|"]
)
def test_nothing_is_shown_where_there_is_nothing_to_say(text: str) -> None:
    assert hovered(text) == ""


def test_a_faulty_plan_shows_what_is_known() -> None:
    text = PLAN + "  model = smal  parallel { tensor = 3  da|ta = auto } }"
    assert "not known" in hovered(text) and "replicas" in hovered(text)
