"""megatron.args and megatron.sh."""

from __future__ import annotations

from tests.targets.truth.words import ranks

_COUNTS = {
    "tensor": "tensor-model-parallel-size", "pipeline": "pipeline-model-parallel-size",
    "context": "context-parallel-size", "expert": "expert-model-parallel-size", "micro_batch": "micro-batch-size",
    "global_batch": "global-batch-size", "sequence": "seq-length",
}  # fmt: skip


def values(files: dict[str, str]) -> dict[str, object]:
    """What the flags say, and the script about its ranks."""
    words = [line[2:] for line in files["megatron.args"].split("\n") if line.startswith("--")]
    said = dict(word.split("=", 1) if "=" in word else (word, "") for word in words)
    found: dict[str, object] = {name: int(said[flag]) for name, flag in _COUNTS.items() if flag in said}
    found["precision"] = next((name for name in ("bf16", "fp16") if name in said), "fp32")
    if float(said["clip-grad"]):  # 0 turns Megatron's own 1.0 off
        found["clip"] = float(said["clip-grad"])
    if "lr" in said:
        found["learning_rate"] = float(said["lr"])
    return found | ranks(files["megatron.sh"])
