"""fsdp2: `parallelize.py`, a module of torch alone that a training script imports to lay its model out as planned.

The text is code that a person reads and keeps: it holds what this plan needs and nothing else. The names of modules are
those of models of transformers; a model of one's own is sharded with the option `layers`, but not split over tensor
ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Fault, Severity
from planc.facts.facts import Facts
from planc.plan.families import nearest_family
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.targets._faults import UNLIKE_NODES, example, fault
from planc.targets._fsdp2_families import LAYERS, SPLITS
from planc.targets._fsdp2_module import layers_path, makes_optimizer, module_text
from planc.targets._launch import check_nodes, choice_of, is_unset, option, written
from planc.targets._left import check_left
from planc.targets.target import EmittedFile, Target

_EMIT = "shard { stage = 3 }  emit = [fsdp2]"
_OF_FAMILY = '  family = "llama"'
_VERSIONS = "torch 2.13.0, transformers 5.23.0."

LAYOUT = fault(
    "PLN951",
    "layout-without-fsdp2",
    "The plan lays out its ranks in a way that parallelize.py does not.",
    why="the module makes a mesh of replicas, shards and tensor ranks. A pipeline needs a schedule and a split model, "
    "expert ranks need layers written for them, and the context parallelism of torch has no kernel for a CPU, so that "
    "no test here could show that it computes what the plan says. Keys and values are split by whole heads.",
    example=example(f"parallel {{ pipeline = 2 }}  {_EMIT}"),
    instead=example(f"parallel {{ tensor = 2 }}  {_EMIT}", batch="global = 64  accumulation = 16"),
    fix="use what the help names, or emit another trainer.",
    source="torch/distributed/tensor/parallel/style.py; tensor/experimental/_context_parallel/_attention.py.",
    versions=_VERSIONS,
)

SHARDING = fault(
    "PLN952",
    "sharding-without-fsdp2",
    "The plan shares, offloads, recomputes or adapts in a way that parallelize.py does not.",
    why="`fully_shard` shares gradients with the optimizer states, offloads both and the weights or none of them, and "
    "reduces a layer at once; recomputation is of whole layers or of operators.",
    example=example("shard { stage = 1 }  emit = [fsdp2]"),
    instead=example("shard { stage = 2 }  emit = [fsdp2]"),
    fix="use what the help names, or emit another trainer.",
    source="torch/distributed/fsdp/_fully_shard/_fully_shard.py and _fsdp_api.py; torch/utils/checkpoint.py.",
    versions=_VERSIONS,
)

PRECISION = fault(
    "PLN953",
    "precision-without-fsdp2",
    "The plan names dtypes that parallelize.py does not combine.",
    why="FSDP2 computes in one dtype and reduces gradients in another; shards of weights, gradients and moments stay "
    "in the dtype of the model, which the module makes fp32. Products in fp8 need layers of another package, and "
    "`GradScaler` moves the factor of the loss.",
    example=example(_EMIT, precision="bf16 { master = bf16 }"),
    instead=example(_EMIT, precision="bf16 { gradients = fp32 }"),
    fix="use what the help names, or emit another trainer.",
    source="torch/distributed/fsdp/_fully_shard/_fsdp_api.py, MixedPrecisionPolicy; torch/amp/grad_scaler.py.",
    versions=_VERSIONS,
)

FAMILY = fault(
    "PLN954",
    "unknown-layers",
    "Nothing says where the model keeps its layers, or how tensor ranks split them.",
    why="each layer is sharded by itself, so that no more than two are whole at a time, and tensor ranks split "
    "products by name. The names are known for families of transformers; of those that are split, a test trains each "
    "and compares it with one process.",
    example=example(_EMIT).replace(_OF_FAMILY, ""),
    instead=example('shard { stage = 3 }  emit = [fsdp2 { layers = "model.layers" }]').replace(_OF_FAMILY, ""),
    fix="write `family` in the model; for a model of your own, without tensor ranks, write "
    '`emit = [fsdp2 { layers = "..." }]`, the path of its `ModuleList`.',
    source="transformers, models/*/modeling_*.py and base_model_tp_plan in configuration_*.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN955",
    "left-to-fsdp2-program",
    "Some written fields have no place in parallelize.py; the program has to follow them.",
    why="the module lays out the model and may make the optimizer; data, schedule, checkpoints and log lines are code "
    "of the program. The plan still checks and counts with these fields; nothing makes the program obey them.",
    example=example(f"checkpoint {{ every = 500 steps }}  {_EMIT}"),
    instead=example(_EMIT),
    fix="nothing, if the program does as the plan says; the note lists the fields.",
    source="templates of fsdp2.",
    versions="planc 0.1.",
    severity=Severity.INFO,
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What parallelize.py cannot do for the plan."""
    yield from check_nodes(plan, "fsdp2")
    yield from _check_layout(plan)
    yield from _check_sharding(plan)
    yield from _check_recomputation(plan)
    yield from _check_precision(plan)
    yield from _check_family(plan)
    yield from check_left(plan, "fsdp2", LEFT, _said(plan))


def _check_layout(plan: Plan) -> Iterator[Diagnostic]:
    for name, what in (
        ("pipeline", "runs no pipeline"),
        ("context", "splits no sequences"),
        ("expert", "shares out no experts"),
        ("expert_tensor", "splits no experts"),
    ):
        path = f"parallel.{name}"
        if 1 < (written(plan, path) or 1):
            yield _at(plan, LAYOUT, path, f"`parallelize.py` {what}", f"write `{name} = 1`, or emit another trainer")
    tensor, kv_heads = written(plan, "parallel.tensor"), written(plan, "model.kv_heads")
    if None not in (tensor, kv_heads) and kv_heads < tensor and tensor % kv_heads == 0:
        yield _at(plan, LAYOUT, "parallel.tensor", f"{tensor} ranks split {kv_heads} KV heads, and hold none twice",
                  f"write `tensor = {kv_heads}`" if 1 < kv_heads else "leave `tensor` out")  # fmt: skip


def _check_sharding(plan: Plan) -> Iterator[Diagnostic]:
    stage, size, data = written(plan, "shard.stage"), written(plan, "shard.size"), written(plan, "parallel.data")
    if stage in (0, 1):
        yield _at(plan, SHARDING, "shard.stage", f"FSDP2 has no stage {stage}: it shares gradients too",
                  "write `shard { stage = 2 }` or `shard { stage = 3 }`")  # fmt: skip
    elif size == 1 and data is not None and 1 < data:
        yield _at(plan, SHARDING, "shard.size", "FSDP2 over one rank shares nothing", "leave `size` out")
    secondary = written(plan, "shard.secondary_size")
    if secondary is not None and stage is not None and stage != 3:
        yield _at(plan, SHARDING, "shard.secondary_size", "a secondary shard exists at stage 3 only",
                  "write `shard { stage = 3 }`")  # fmt: skip
    elif secondary == 1 and stage is not None:
        yield _at(plan, SHARDING, "shard.secondary_size", "a secondary shard on one rank is a whole copy",
                  "write `shard { stage = 2 }`, which keeps one")  # fmt: skip
    if written(plan, "shard.bucket") is not None:
        yield _at(plan, SHARDING, "shard.bucket", "FSDP2 reduces a layer at once", "remove it")
    optimizer, weights = written(plan, "offload.optimizer"), written(plan, "offload.weights")
    for path, device in (("offload.optimizer", optimizer), ("offload.weights", weights)):
        if device == "nvme":
            yield _at(plan, SHARDING, path, "FSDP2 offloads to the host, not to NVMe", f"write `{path[8:]} = cpu`")
            return
    if (optimizer is None) != (weights is None) and not _is_faulty(plan, "offload.optimizer", "offload.weights"):
        yield _at(plan, SHARDING, "offload.weights" if optimizer is None else "offload.optimizer",
                  "FSDP2 offloads weights and optimizer states together",
                  "write `offload { optimizer = cpu  weights = cpu }`")  # fmt: skip


def _check_recomputation(plan: Plan) -> Iterator[Diagnostic]:
    layers, method = written(plan, "recompute.layers"), written(plan, "recompute.method")
    if written(plan, "recompute.modules") is not None:
        yield _at(plan, SHARDING, "recompute.modules", "`parallelize.py` recomputes operators, not modules",
                  "remove `modules`, or write `recompute = full`")  # fmt: skip
    if method != "block" and layers is not None and layers != 1:
        yield _at(plan, SHARDING, "recompute.layers", f"`parallelize.py` recomputes no chunks of {layers} layers",
                  "leave `layers` out")  # fmt: skip
    if written(plan, "offload.activations"):
        yield _at(plan, SHARDING, "offload.activations", "`parallelize.py` offloads no activations", "remove it")
    if not is_unset(plan, "adapter"):
        yield _at(plan, SHARDING, "adapter", "`parallelize.py` makes all weights fp32, and adapts none",
                  "emit `accelerate`, or remove the adapter")  # fmt: skip


def _check_precision(plan: Plan) -> Iterator[Diagnostic]:
    precision = written(plan, "precision")
    if precision in ("fp8", "fp4"):
        yield _at(plan, PRECISION, "precision", f"`parallelize.py` makes no products in {precision}",
                  "write `precision = bf16`, or emit `torchtitan` or `megatron`")  # fmt: skip
        return
    if written(plan, "precision.gradients") == "fp8":
        yield _at(plan, PRECISION, "precision.gradients", "FSDP2 reduces no fp8 gradients", "write `gradients = bf16`")
    for path in ("precision.master", "optimizer.states"):
        dtype = written(plan, path)
        if dtype not in (None, "fp32"):
            yield _at(plan, PRECISION, path, f"`parallelize.py` keeps fp32 weights and moments, not {dtype}",
                      f"write `{path.partition('.')[2]} = fp32`")  # fmt: skip
    if written(plan, "precision.loss_scale") not in (None, "dynamic"):
        yield _at(plan, PRECISION, "precision.loss_scale", "torch scales the loss dynamically",
                  "write `loss_scale = auto`")  # fmt: skip


def _check_family(plan: Plan) -> Iterator[Diagnostic]:
    choice, tensor, family = choice_of(plan, "fsdp2"), written(plan, "parallel.tensor"), written(plan, "model.family")
    if choice is None or _is_faulty(plan, "model.family", "model", "parallel.tensor"):
        return
    layers = option(plan, "fsdp2", "layers")
    known = f"known are {', '.join(f'`{name}`' for name in sorted(SPLITS))}"
    near = None if family is None else nearest_family(family)
    unknown, not_split = (f"did you mean `{near}`?",) * 2 if near else ("unknown `family`", "not this `family`")
    if tensor is not None and 1 < tensor and (family not in SPLITS or layers is not None):
        yield FAMILY.at(
            plan["parallel.tensor"].span,
            "nothing says how tensor ranks split this model",
            "no `family`" if family is None else "a path alone does not" if family in SPLITS else not_split,
            help=("write `tensor = 1`, or the `family` of a model of transformers",),
            notes=(known,),
        )
    elif layers is not None and "" in layers.split("."):
        span = choice.options["layers"].span
        help = ('write it as in `"model.layers"`',)
        yield FAMILY.at(span, "`layers` is no path of a module", "a part has no name", help=help)
    elif layers_path(plan) is None:
        yield FAMILY.at(
            plan["model"].span,
            "nothing says where the model keeps its layers",
            "no `family`" if family is None else unknown,
            help=('write `emit = [fsdp2 { layers = "model.layers" }]`, or a `family`',),
            notes=(f"known are {', '.join(f'`{name}`' for name in sorted(LAYERS))}",),
        )


def _said(plan: Plan) -> set[str]:
    """Paths of the fields that parallelize.py says, or that have a fault of their own where it cannot."""
    said = {
        "parallel.tensor", "parallel.sequence", "parallel.pipeline", "parallel.context", "parallel.expert",
        "parallel.expert_tensor", "parallel.data", "shard.stage", "shard.size", "shard.secondary_size", "shard.bucket",
        "batch.global", "batch.micro", "batch.accumulation", "batch.sequence_length", "precision",
        "precision.gradients", "precision.master", "precision.loss_scale", "recompute", "recompute.layers",
        "recompute.method", "recompute.modules", "offload.optimizer", "offload.weights", "offload.activations",
        "optimizer.states", "optimizer.clip", "train.seed", "train.deterministic",
        "train.compile", "adapter",
    }  # fmt: skip
    if makes_optimizer(plan):
        said.update(("optimizer", *(f"optimizer.{name}" for name in plan["optimizer"].value)))
    return said


def _is_faulty(plan: Plan, *paths: str) -> bool:
    return any(written(plan, path) is None and not is_unset(plan, path) for path in paths)


def _at(plan: Plan, kind: Fault, path: str, message: str, help: str) -> Diagnostic:
    return kind.at(plan[path].span, message, help=(help,))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`parallelize.py`."""
    return (EmittedFile("parallelize.py", module_text(plan, facts)),)


TARGET = Target(
    summary="parallelize.py: device mesh, tensor split, FSDP2 and recomputation for a script of plain torch",
    proved="torch 2.13.0 with models of transformers 5.23.0: imported and trained on gloo with 2 and 4 processes",
    check=check,
    emit=emit,
    engines=("fsdp2",),
    options=(
        Field(
            "layers",
            Type("text"),
            None,
            "path of the `ModuleList` that holds the model's layers, such as `model.layers`; by default known from the"
            " model's `family`",
        ),
    ),
    faults=(LAYOUT, SHARDING, PRECISION, FAMILY, LEFT, UNLIKE_NODES),
    gradients="weights",
    aliases=("torch", "pytorch", "fsdp"),
    module=True,
    timeout=True,
)
