"""What a run reported, summed up, from every form in which it is read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from planc.evidence.metric_files import read_csv, read_jsonl, read_trainer_state
from planc.evidence.metric_logs import values_in
from planc.evidence.metrics import MOST_METRICS, Value, as_data, best_of, summed_up
from planc.evidence.software import versions_in
from planc.measuring.series import Faulty


def numbered(text: str) -> list[tuple[int, str]]:
    return list(enumerate(text.splitlines(keepends=True), 1))


def data_of(values: Iterable[Value]) -> dict[str, Any]:
    return {name: as_data(name, metric) for name, metric in summed_up(values).items()}


def of_log(text: str) -> list[tuple[str, float, int | None]]:
    return [(value.metric, value.number, value.step) for _, line in numbered(text) for value in values_in(line)]


def test_final_extremes_and_best() -> None:
    text = """\
{"step": 1, "loss": 3.5, "acc": 0.1, "lr": 1e-4}

{"step": 2, "loss": 1.5, "acc": 0.7, "lr": 1e-4, "note": "saved", "done": false, "at": null}
{"step": 3, "loss": 2, "acc": 0.7, "lr": 5e-5}
"""
    assert data_of(read_jsonl(numbered(text))) == {
        "acc": {
            "count": 3,
            "final": {"value": 0.7, "step": 3},
            "lowest": {"value": 0.1, "step": 1},
            "highest": {"value": 0.7, "step": 2},
            "best": {"value": 0.7, "step": 2},
        },
        "loss": {
            "count": 3,
            "final": {"value": 2, "step": 3},
            "lowest": {"value": 1.5, "step": 2},
            "highest": {"value": 3.5, "step": 1},
            "best": {"value": 1.5, "step": 2},
        },
        "lr": {
            "count": 3,
            "final": {"value": 5e-5, "step": 3},
            "lowest": {"value": 5e-5, "step": 3},
            "highest": {"value": 1e-4, "step": 1},
        },
    }


def test_what_is_no_number_is_flagged_and_no_extreme() -> None:
    text = '{"loss": 2, "step": 1}\n{"loss": NaN, "step": 2}\n{"loss": "inf", "step": 3}\n'
    text += '{"loss": -Infinity, "step": 4}\n'
    assert data_of(read_jsonl(numbered(text)))["loss"] == {
        "count": 4,
        "final": {"value": "-Infinity", "step": 4},
        "lowest": {"value": 2, "step": 1},
        "highest": {"value": 2, "step": 1},
        "best": {"value": 2, "step": 1},
        "not_finite": {"count": 3, "first": {"value": "NaN", "step": 2}},
    }
    assert data_of(read_jsonl([(1, '{"loss": NaN}')]))["loss"] == {
        "count": 1, "final": {"value": "NaN"}, "not_finite": {"count": 1, "first": {"value": "NaN"}},
    }  # fmt: skip


@pytest.mark.parametrize("name", ["step", "global_step", "iteration", "_step", "train/global_step", "iter"])
def test_every_name_of_a_step(name: str) -> None:
    assert list(read_jsonl([(1, json.dumps({"loss": 1, name: 7.0}))])) == [Value("loss", 1, 7)]


def test_objects_in_a_line() -> None:
    assert list(read_jsonl([(1, '{"eval": {"loss": 1, "by": {"set": 2}}}')])) == [
        Value("eval.loss", 1, None), Value("eval.by.set", 2, None),
    ]  # fmt: skip


def test_a_table_with_empty_cells() -> None:
    text = 'step,train_loss,"val, loss"\n1,2.5,\n2,,1.25\n,inf,nan\n3,2.0\n'
    found = data_of(read_csv(numbered(text)))
    assert found["train_loss"]["final"] == {"value": 2.0, "step": 3}
    assert found["train_loss"]["not_finite"] == {"count": 1, "first": {"value": "Infinity"}}
    assert found["val, loss"]["lowest"] == {"value": 1.25, "step": 2}


def test_the_state_of_a_trainer() -> None:
    history = [{"epoch": 0.5, "loss": 2.0, "step": 10}, {"epoch": 1.0, "eval_loss": 1.5, "step": 20}]
    found = data_of(read_trainer_state(json.dumps({"best_metric": 1.5, "log_history": history})))
    assert found["loss"]["final"] == {"value": 2.0, "step": 10}
    assert found["eval_loss"]["best"] == {"value": 1.5, "step": 20}


@pytest.mark.parametrize(
    ("values", "line", "reason"),
    [
        (lambda: read_jsonl([(3, "{\n")]), 3, "no JSON"),
        (lambda: read_jsonl([(3, '{"a": 1, "loss": {"b": 2, "b": 3}}')]), 3, "`b` stands there twice"),
        (lambda: read_jsonl([(1, "[1]")]), 1, "no object"),
        (lambda: read_jsonl([(1, "[" * 100_000)]), 1, "no JSON"),
        (lambda: read_jsonl([(2, '{"step": 1.5, "loss": 1}')]), 2, "no whole number"),
        (lambda: read_jsonl([(2, '{"step": "x", "loss": 1}')]), 2, "no whole number"),
        (lambda: read_jsonl([(2, '{"step": NaN, "loss": 1}')]), 2, "no whole number"),
        (lambda: read_jsonl([(2, '{"step": -1, "loss": 1}')]), 2, "no whole number"),
        (lambda: read_csv([]), 0, "empty"),
        (lambda: read_csv(numbered("a,a\n")), 1, "same name"),
        (lambda: read_csv(numbered("1,2.0\n2,1.5\n")), 1, "names no columns"),
        (lambda: read_csv(numbered("a,b\n1,2\n1,2,3\n")), 3, "3 cells"),
        (lambda: read_csv(numbered('a,b\n"1"x,2\n')), 2, "no line of a table"),
        (lambda: read_trainer_state("{}"), 0, "no `log_history`"),
        (lambda: read_trainer_state("[" * 100_000), 0, "no `log_history`"),
        (lambda: read_trainer_state('{"log_history": [1]}'), 0, "no list of objects"),
        (lambda: read_trainer_state('{"log_history": [{"loss": 1, "loss": 2}]}'), 0, "`loss` stands there twice"),
        (lambda: read_trainer_state('{"log_history": [], "log_history": []}'), 0, "`log_history` stands there twice"),
    ],
)
def test_files_that_hold_none(values: Any, line: int, reason: str) -> None:
    with pytest.raises(Faulty, match=reason) as fault:
        list(values())
    assert fault.value.line == line


def test_a_name_with_every_line_is_no_metric() -> None:
    with pytest.raises(Faulty, match="more than 10000 metrics"):
        summed_up(Value(str(number), 1, None) for number in range(MOST_METRICS + 1))


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("loss", "lowest"),
        ("lm loss", "lowest"),
        ("eval_loss", "lowest"),
        ("train/loss", "lowest"),
        ("val_ppl", "lowest"),
        ("eval_accuracy", "highest"),
        ("f1", "highest"),
        ("loss scale", ""),
        ("loss_weight", ""),
        ("grad_norm", ""),
        ("glossary", ""),
        ("accuracy_error", ""),
    ],
)
def test_which_value_is_the_best(name: str, best: str) -> None:
    assert best_of(name) == best


def test_a_log_of_megatron() -> None:
    text = """\
 [2026-11-30 10:00] iteration  10/     100 | consumed samples:  640 | elapsed time per iteration (ms): 201.5 \
| learning rate: 1.500000E-05 | lm loss: 9.5E+00 | loss scale: 1.0 | grad norm: 2.5 | nan iterations: 0 |
0: iteration       20/     100 | consumed samples:  1280 | lm loss: NAN | number of nan iterations: 1 | at the end: 1
 validation loss at iteration 20 | lm loss value: 8.25E+00 | lm loss PPL: 3.8E+03 |
 validation loss at iteration 20 on test set | lm loss value: 8.5E+00 | lm loss PPL: 4.9E+03 |
saving checkpoint at iteration      20 to somewhere | x: 1 |
"""
    found = of_log(text)
    assert ("lm loss", 9.5, 10) in found
    assert ("learning rate", 1.5e-5, 10) in found
    assert ("elapsed time per iteration (ms)", 201.5, 10) in found
    assert [step for name, number, step in found if name == "lm loss" and number != number] == [20]
    assert ("lm loss value", 8.25, 20) in found
    assert ("lm loss value on test set", 8.5, 20) in found
    assert ("at the end", 1.0, 20) in found
    assert not [name for name, _, _ in found if name in ("x", "cut off")]
    assert of_log(" iteration 30/ 100 | lm loss: 1.5E+00 | cut off: 1") == [("lm loss", 1.5, 30)]


def test_a_log_of_nanotron() -> None:
    text = (
        "11/30 10:00:00 [INFO|DP=0]: iteration: 91 / 100 | consumed_tokens: 93.2K | global_batch_size: 1.02K | "
        "grad_norm: 1.4M | lr: 3.3e-05 | lm_loss: 9.2 | eta: 0:10:00 | model_tflops_per_gpu: 0.784\n"
    )
    assert of_log(text) == [
        ("consumed_tokens", 93_200, 91),
        ("global_batch_size", 1020, 91),
        ("grad_norm", 1.4e6, 91),
        ("lr", 3.3e-05, 91),
        ("lm_loss", 9.2, 91),
        ("model_tflops_per_gpu", 0.784, 91),
    ]
    assert of_log(text.removesuffix("4\n"))[-1] == ("lm_loss", 9.2, 91)


def test_a_log_of_torchtitan() -> None:
    color = "\x1b[31mstep: 10  \x1b[32mloss:  7.5000  \x1b[38mgrad_norm:  1.25  \x1b[34mmemory:  2.50GiB(3.10%)  "
    color += "tps: 1,234\x1b[39m\n"
    text = f"[rank0]:[titan] 2026-11-30 - root - INFO - {color}step: 20  loss:  nan  grad_norm:  1\n"
    assert of_log(text)[:4] == [("loss", 7.5, 10), ("grad_norm", 1.25, 10), ("memory", 2.5, 10), ("tps", 1234, 10)]
    assert [(name, step) for name, _, step in of_log(text)[4:]] == [("loss", 20), ("grad_norm", 20)]


def test_a_log_of_the_trainer() -> None:
    text = """\
{'loss': 2.5, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.5}
 50%|#####     | 5/10 {'loss': '1.5', 'grad_norm': 'inf', 'epoch': '1'}
{'train_batch_size': 8, 'loss': 1.0}
{'loss': 1.25, 'epo
"""
    found = of_log(text)
    assert [value for value in found if value[0] == "loss"] == [("loss", 2.5, None), ("loss", 1.5, None)]
    assert [name for name, number, _ in found if number != number] == ["grad_norm"]
    assert ("grad_norm", float("inf"), None) in found
    assert ("epoch", 1.0, None) in found


def test_versions_in_a_log() -> None:
    text = """\
[2026-11-30 10:00:00,000] [INFO] [logging.py:107:log_dist] [Rank 0] DeepSpeed info: version=0.19.8, git-hash=unknown
PyTorch version: 2.13.0+cu130
CUDA used to build PyTorch: 13.0
Python version: 3.11.9 (main, Apr  6 2026) [GCC 13] (64-bit runtime)
Nvidia driver version: 580.65.06
cuDNN version: Probably one of the following:
[pip3] numpy==2.4.6
0: flash_attn==2.8.3
- `transformers` version: 5.23.0
NCCL version 2.29.7+cuda13.2
[titan] - root - INFO - torchtitan version: 0.3.0 (0.0.0 means __version__ is not defined correctly).
if x==1: the version is unknown
11/30 10:00:00 [INFO]: nanotron version: 0.4
11/30 10:00:00 [INFO]: torch version: 2.13.0
11/30 10:00:00 [INFO]: flash-attn version: 2.8.3
"""
    found = [found for line in text.splitlines(keepends=True) for found in versions_in(line)]
    assert found == [
        ("deepspeed", "0.19.8"), ("torch", "2.13.0+cu130"), ("cuda", "13.0"), ("python", "3.11.9"),
        ("nvidia-driver", "580.65.06"), ("numpy", "2.4.6"), ("flash-attn", "2.8.3"), ("transformers", "5.23.0"),
        ("nccl", "2.29.7+cuda13.2"), ("torchtitan", "0.3.0"), ("nanotron", "0.4"), ("torch", "2.13.0"),
        ("flash-attn", "2.8.3"),
    ]  # fmt: skip
