"""The batch: how the samples of a step are shared out over replicas and passes."""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import remainder, whole
from planc.facts.fact import Fact


def samples_per_pass(micro: Any, data: Any) -> Any:
    """Samples that all replicas together take in one forward pass.

    Formula: micro x data
    Source: DeepSpeed, train_batch_size = micro x gradient_accumulation_steps x data-parallel size.
    """
    return micro * data


def accumulation_steps(global_batch: Any, per_pass: Any) -> Any:
    """Micro batches per replica and step that the global batch allows, m in the pipeline formulas.

    Formula: global // (micro x data), rounded down
    Source: DeepSpeed, gradient_accumulation_steps; Megatron, num_microbatches.
    """
    return whole(global_batch, per_pass)


def leftover_samples(global_batch: Any, per_pass: Any) -> Any:
    """Samples of a step that do not fill a pass.

    Formula: global mod (micro x data)
    Source: the remainder of the division above; DeepSpeed and Megatron refuse a batch with one.
    """
    return remainder(global_batch, per_pass)


def tokens_per_step(global_batch: Any, sequence_length: Any) -> Any:
    """Tokens per optimizer step, whole job.

    Formula: global x sequence_length
    Source: every sample is cut or padded to the sequence length.
    """
    return global_batch * sequence_length


FACTS = (
    Fact("batch.per_pass", "samples", samples_per_pass, ("batch.micro", "parallel.data")),
    Fact("batch.passes", "count", accumulation_steps, ("batch.global", "batch.per_pass")),
    Fact("batch.leftover", "samples", leftover_samples, ("batch.global", "batch.per_pass")),
    Fact("batch.tokens", "tokens", tokens_per_step, ("batch.global", "batch.sequence_length")),
)
