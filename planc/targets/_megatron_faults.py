"""What the target of Megatron-LM reports, with a page each."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Severity
from planc.targets._faults import example, fault

_EMIT = 'launch { script = "pretrain_gpt.py" }  emit = [megatron]'
_VERSIONS = "Megatron-LM with core 0.14 to 0.16; checked with megatron-core 0.16.1."
_ARGUMENTS = "Megatron-LM, megatron/training/arguments.py"

LAYOUT = fault(
    "PLN961",
    "layout-without-megatron",
    "The plan lays out its ranks in a way that Megatron-LM does not know.",
    why="Megatron runs pipelines as 1F1B or interleaved, and its context ranks exchange as a ring, by Ulysses or by an "
    "all-gather. A hierarchical exchange needs two sizes, for which the plan has no field.",
    example=example(f"parallel {{ pipeline = 2 }}  pipeline = zero-bubble  {_EMIT}"),
    instead=example(f"parallel {{ pipeline = 2 }}  pipeline = 1f1b  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source=f"{_ARGUMENTS}, cp-comm-type; megatron-core, pipeline_parallel/schedules.py.",
    versions=_VERSIONS,
)

STATES = fault(
    "PLN962",
    "states-without-megatron",
    "The plan shares or offloads its states in a way that Megatron-LM does not know.",
    why="Megatron's distributed optimizer is stage 1, its FSDP the stages 2 and 3. Only the states of Adam are "
    "offloaded, to the host and from stage 1 on; weights have no secondary shard; activations are offloaded by module, "
    "for which the plan has no field; Muon shares nothing.",
    example=example(f"shard {{ stage = 0 }}  offload {{ optimizer = cpu }}  {_EMIT}"),
    instead=example(f"shard {{ stage = 1 }}  offload {{ optimizer = cpu }}  {_EMIT}"),
    fix="use what the help names, or leave the setting out.",
    source=f"{_ARGUMENTS}, validate_args; megatron-core, optimizer/optimizer_config.py.",
    versions=_VERSIONS,
)

PRECISION = fault(
    "PLN963",
    "precision-without-megatron",
    "The plan names dtypes, or an optimizer, that Megatron-LM does not have.",
    why="gradients are kept in fp32 or in the dtype of the weights; narrow states belong to its precision-aware Adam, "
    "whose master weights are fp32 or fp16; and its optimizers are Adam, SGD and Muon, with no argument of another.",
    example=example(f"optimizer = lion {{ learning_rate = 1e-4 }}  {_EMIT}"),
    instead=example(f"optimizer = adamw {{ learning_rate = 1e-4 }}  {_EMIT}"),
    fix="use what the help names, or emit another trainer.",
    source=f"{_ARGUMENTS}, optimizer; megatron-core, OptimizerConfig and TransformerConfig.",
    versions=_VERSIONS,
)

MODEL = fault(
    "PLN964",
    "model-without-megatron",
    "The model has a part that Megatron-LM's GPT does not build.",
    why="`pretrain_gpt.py` builds layers with two norms, rotary or learned positions, and biases of all linear layers, "
    "of queries, keys and values, or of none. It would train another model, without a word.",
    example=example(f"{_EMIT}").replace("vocab = 32_000", "vocab = 32_000  positions = alibi"),
    instead=example(f"{_EMIT}"),
    fix="describe a model that Megatron builds, or emit another trainer.",
    source="Megatron-LM, pretrain_gpt.py; megatron-core, models/gpt.",
    versions=_VERSIONS,
)

RUN = fault(
    "PLN965",
    "run-without-megatron",
    "The run asks for what Megatron-LM's command line cannot say.",
    why="Megatron counts a run and its schedule in iterations, or in samples beside a batch that grows, and saves "
    "after iterations; it has no `torch.compile` and no adapters; a flag that `launch.args` repeats would win over the "
    "plan; and the parser of an older version stops at a flag that came later.",
    example=example(f'checkpoint {{ every = 30 min  directory = "ckpt" }}  {_EMIT}'),
    instead=example(f'checkpoint {{ every = 500 steps  directory = "ckpt" }}  {_EMIT}'),
    fix="write what the help names, or remove it.",
    source=f"{_ARGUMENTS}, validate_args.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN966",
    "left-to-megatron-command",
    "Some written fields have no flag of Megatron-LM, or flags that it needs have no field.",
    why="the plan has no field for a tokenizer, and Megatron no flag for a data set's version. The plan still checks "
    "and counts with what the note lists; what Megatron asks for besides comes from `launch.args` or the caller.",
    example=example(f"{_EMIT}"),
    instead=example(
        "optimizer { learning_rate = 1e-4 }  train { duration = 1000 steps }  "
        'launch { script = "pretrain_gpt.py"  '
        'args = ["--mock-data", "--tokenizer-type=NullTokenizer", "--rotary-base=500000"] }  '
        "emit = [megatron]",
        batch="global = 64  accumulation = 8  sequence_length = 1Ki",
    ),
    fix="add the flags that the note lists to `launch.args`, or pass them to the script.",
    source=f"{_ARGUMENTS}, validate_args.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

FAULTS = (LAYOUT, STATES, PRECISION, MODEL, RUN, LEFT)
