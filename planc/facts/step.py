"""The time of a step: passes of the slowest stage, what its schedule leaves idle, exchange that nothing hides, the optimizer.

step.time = compute + communication + bubble + optimizer + overhead. The pass of a stage is forward and backward of one micro
batch. m is the micro batches of a step, s the stages, L the layers, v the chunks of a rank.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from planc.facts import constants
from planc.facts.arithmetic import at_largest, is_array, largest, smallest, where
from planc.facts.fact import Fact
from planc.facts.floats import in_floats
from planc.plan.model import Unknown


@in_floats
def least_layer_time(
    engine: Any, again: Any, tensor: Any, stages: Any, sequence: Any, domain: Any, world: Any
) -> Any:  # fmt: skip
    """Seconds that a layer takes at least for a micro batch, whatever its size: forward, backward and again.

    Formula: (3 + passes again) x ({LAUNCH_TIME} + {LAUNCH_TIME_PER_RANK} x tensor ranks of a domain, 0 without them); nanotron: without
        tensor ranks (3 + passes again) x {LAUNCH_TIME}, with them {LAUNCH_TIME_NANOTRON}, with a pipeline over several domains at least
        {STALL_TIME} + {STALL_TIME_PER_RANK} x tensor ranks; for each further domain of them {FAR_COLLECTIVE_TIME} x 4 more, with sequence
        parallelism {FAR_GATHER_TIME} x 10
    Source: measured steps, see `docs/cost-model.md`.
    """
    split = where(1 < tensor, smallest(tensor, domain), 0.0)
    if engine != "nanotron":
        launch = constants.LAUNCH_TIME.value + constants.LAUNCH_TIME_PER_RANK.value * split
        return (3 + again) * launch
    alone = where(1 < tensor, constants.LAUNCH_TIME_NANOTRON.value, constants.LAUNCH_TIME.value) * (3 + again)
    stalled = constants.STALL_TIME.value + constants.STALL_TIME_PER_RANK.value * tensor
    near = where((1 < tensor) & (1 < stages) & (domain < world), largest(stalled, alone), alone)
    domains = tensor / largest(domain, 1.0)
    # 4 all-reduces; with sequence parallelism 4 scatters, 4 gathers, and 2 gathers more for gradients of weights
    far = where(sequence, 10 * constants.FAR_GATHER_TIME.value, 4 * constants.FAR_COLLECTIVE_TIME.value)
    return near + far * largest(domains - 1, 0.0)


@in_floats
def layer_exchange(tensor: Any, context: Any, factor: Any) -> Any:
    """Seconds of exchange inside a layer that its computation does not hide, for a micro batch.

    Formula: (what is exposed of tensor and of context ranks' exchange) x calibration.communication
    Source: definition.
    """
    return (tensor + context) * (1.0 if factor is None else factor)


@in_floats
def layer_time(computed: Any, exchange: Any, least: Any, factor: Any) -> Any:
    """Seconds of a dense layer for a micro batch, forward, backward and again.

    Formula: the larger of computation x calibration.compute + exchange, and the least time
    Source: definition.
    """
    return largest(computed * (1.0 if factor is None else factor) + exchange, least)


@in_floats
def moe_layer_time(computed: Any, exchange: Any, expert: Any, least: Any, factor: Any, other: Any) -> Any:
    """Seconds of an MoE layer for a micro batch, forward, backward and again.

    Formula: the larger of computation x calibration.compute + exchange + all-to-alls, and the least time
    Source: definition.
    """
    return layer_time(computed, exchange + expert * (1.0 if other is None else other), least, factor)


@in_floats
def stage_pass(
    layers: Any, moe_layers: Any, layer: Any, moe_layer: Any, has_head: Any, head: Any, mtp: Any, has_experts: Any, sends: Any,
    passes: Any, factor: Any,
) -> Any:  # fmt: skip
    """Seconds of one micro batch on the stage: forward and backward.

    Formula: layers x their time + output layer, on its stage, with the layers of multi-token prediction + sends / m + {PASS_TIME}
    Source: definition.
    """
    extra = mtp * (layer if has_experts is None else moe_layer)
    ends = where(has_head, head * (1 + mtp) * (1.0 if factor is None else factor) + extra, 0.0)
    own = (layers - moe_layers) * layer + moe_layers * moe_layer + ends
    return own + sends / largest(passes, 1.0) + constants.PASS_TIME.value


@in_floats
def stage_exchange(
    layers: Any, moe_layers: Any, exchange: Any, expert: Any, sends: Any, passes: Any, factor: Any
) -> Any:
    """Seconds of exchange in one micro batch on the stage that computation does not hide.

    Formula: layers x exchange of one + MoE layers x all-to-alls + sends / m
    Source: definition.
    """
    return layers * exchange + moe_layers * expert * (1.0 if factor is None else factor) + sends / largest(passes, 1.0)


@in_floats
def sends(seconds: Any, factor: Any) -> Any:
    """Seconds of sends between stages in a step, as they were calibrated.

    Formula: communication.pipeline.exposed x calibration.communication
    Source: definition.
    """
    return seconds * (1.0 if factor is None else factor)


@in_floats
def slowest_pass(passes: tuple[Any, ...]) -> Any:
    """Seconds of one micro batch on the slowest stage.

    Formula: the largest of all stages
    Source: definition.
    """
    return at_largest(passes, passes)


@in_floats
def all_passes(slowest: Any, passes: Any) -> Any:
    """Seconds that the slowest stage works in a step.

    Formula: m x its pass
    Source: definition.
    """
    return passes * slowest


@in_floats
def step_compute(stage_passes: tuple[Any, ...], exchange: tuple[Any, ...], passes: Any) -> Any:
    """Seconds that the slowest stage computes in a step, launches and recomputation included.

    Formula: m x (its pass - exchange in it)
    Source: definition.
    """
    return passes * largest(at_largest(stage_passes, stage_passes) - at_largest(stage_passes, exchange), 0.0)


@in_floats
def step_bubble(
    slowest: Any, layers: Any, moe_layers: Any, layer: Any, moe_layer: Any, head: Any, mtp: Any, has_experts: Any, sent: Any,
    passes: Any, stages: Any, schedule: Any, chunks: Any, share: Any, factor: Any,
) -> Any:  # fmt: skip
    """Seconds of a step in which the slowest stage stands idle for the others.

    Formula: (passes of all stages - that of the slowest) x 1, interleaved 1 / v; zero-bubble and dual: i / 3 (s - 1), i as in `pipeline.bubble`; a
        pass is that of `stage.pass`, with {PASS_TIME}
    Source: Narayanan et al. (2021), section 2.2, with unlike stages: filling and draining pass through every stage once.
    """
    extra = mtp * (layer if has_experts is None else moe_layer)
    ends = head * (1 + mtp) * (1.0 if factor is None else factor) + extra
    each = sent / largest(passes, 1.0) + constants.PASS_TIME.value
    everything = (layers - moe_layers) * layer + moe_layers * moe_layer + ends + stages * each
    idle = largest(everything - slowest, 0.0)
    if schedule == "interleaved":
        if chunks is None:
            return Unknown("`pipeline.chunks` is not set", ("pipeline.chunks",), unset=True)
        return where(1 < stages, idle / largest(chunks, 1.0), 0.0)
    if schedule in ("zero-bubble", "dual"):
        # share = i / (3 m + i), so i = 3 m share / (1 - share)
        units = passes * share / largest(1 - share, 1e-9)
        return where(1 < stages, idle * units / largest(stages - 1, 1.0), 0.0)
    return where(1 < stages, idle, 0.0)


@in_floats
def step_communication(tensor: Any, context: Any, expert: Any, sent: Any, data: Any, shard: Any, factor: Any) -> Any:
    """Seconds of exchange in a step that computation does not hide.

    Formula: what is exposed of every axis, x calibration.communication
    Source: definition.
    """
    found = tensor + context + expert + sent + data + shard
    return found * (1.0 if factor is None else factor)


@in_floats
def optimizer_time(
    weights: tuple[Any, ...], gradients: tuple[Any, ...], states: tuple[Any, ...], memory: Any, offload: Any, parameters: Any,
    optimizer_width: Any, gradient_width: Any, group: Any, stage: Any, pcie: Any, nodes: Any, world: Any,
) -> Any:  # fmt: skip
    """Seconds of the optimizer's update.

    Formula: (2 x states + 2 x gradients + weights of the card) / memory rate: all are read, states and weights written, gradients read
        once more to clip them; offloaded: gradients down and weights up over PCIe + parameters of a node / {HOST_ADAM_RATE}
    Source: definition; Ren et al., ZeRO-Offload (2021), section 4.
    Assumes: AdamW and its like, fused; muon's products are left out.
    """
    traffic: Any = 0.0
    for weight, gradient, state in zip(weights, gradients, states, strict=True):
        traffic = largest(traffic, weight + 2 * gradient + 2 * state)
    found = traffic / memory
    if offload is None:
        return found
    if pcie is None:
        return Unknown("`cluster.gpu.pcie` is not set", ("cluster.gpu.pcie",), unset=True)
    own = parameters / where(1 <= stage, group, 1.0)
    moved = own * 2 * gradient_width / pcie
    return found + moved + own * world / nodes / constants.HOST_ADAM_RATE.value


def step_overhead() -> Any:
    """Seconds of a step beside its passes, exchange and update, whatever is trained.

    Formula: {STEP_TIME}
    Source: measured steps, see `docs/cost-model.md`.
    """
    return constants.STEP_TIME.value


@in_floats
def step_time(computed: Any, exchanged: Any, idle: Any, optimizer: Any, overhead: Any) -> Any:
    """Predicted time of one optimizer step.

    Formula: compute + communication + bubble + optimizer + overhead
    Source: definition; `python -m tests.accuracy` shows how near it comes to what was measured.
    Assumes: data is loaded in time; no saves, no evaluation, no slow node.
    """
    return computed + exchanged + idle + optimizer + overhead


@in_floats
def ideal_time(flops: Any, peak: Any, world: Any) -> Any:
    """Seconds of a step in which every card did nothing but the model's products, at its peak.

    Formula: model FLOPs of a step / (peak rate x ranks)
    Source: definition; step.mfu is this over the time of the step.
    """
    return flops / peak / world


@in_floats
def recompute_time(
    again: Any, kind: Any, projections: Any, scores: Any, mlp: Any, elementwise: Any, family: Any, passes: Any,
    layers: tuple[Any, ...],
) -> Any:  # fmt: skip
    """Seconds of a step that go into what is computed again in the backward pass.

    Formula: m x layers of the largest stage x (full: a forward pass of a layer; selective: scores, or with FSDP2 half of the products
        and the rest)
    Source: as for `layer.compute`.
    Assumes: MoE layers take as long as dense ones.
    """
    most = at_largest(layers, layers)
    if kind == "full":
        return passes * most * again * (projections + scores + mlp + elementwise)
    if kind == "selective":
        return passes * most * ((projections + mlp) / 2 + elementwise if family == "fsdp2" else scores)
    return 0.0


#: The axes along which ranks exchange, as `limit` names them.
AXES = ("tensor", "context", "expert", "pipeline", "shard", "data")

_OTHERS = ("compute", "recompute", "bubble", "optimizer", "overhead")

#: What a step may be limited by.
LIMITS = (*_OTHERS, *AXES)


@in_floats
def limit(
    ideal: Any, computed: Any, again: Any, idle: Any, optimizer: Any, overhead: Any, exchanged: Any, *axes: Any
) -> Any:  # fmt: skip
    """What takes most of the time by which a step is longer than the ideal: the dominant cost.

    Formula: the largest of: compute - recomputation - ideal (products below the peak rate, traffic, launches); recomputation; bubble;
        optimizer; overhead; exchange of all axes together, which is then named by the axis that exposes most
    Source: definition.
    """
    terms = (computed - again - ideal, again, idle, optimizer, overhead, exchanged)
    if any(map(is_array, (*terms, *axes))):
        numpy = import_module("numpy")
        name, axis = (numpy.stack(numpy.broadcast_arrays(*group)).argmax(axis=0) for group in (terms, axes))
        return numpy.array(LIMITS)[numpy.where(name < len(_OTHERS), name, len(_OTHERS) + axis)]
    most = terms.index(max(terms))
    return _OTHERS[most] if most < len(_OTHERS) else AXES[axes.index(max(axes))]


def time_taken(measured: Any, predicted: Any) -> Any:
    """Time of one optimizer step: as it was measured, else as it is predicted.

    Formula: `--step-time` if it is given, else step.time
    Source: definition.
    """
    if measured is not None:
        return measured
    return _UNTIMED if predicted is None else predicted


_UNTIMED = Unknown("the time of a step is neither measured nor predicted", ("step.measured",), unset=True)

_COMPUTE, _COMMUNICATION = "calibration.compute?", "calibration.communication?"
_LAYERS = ("stage.layers", "stage.moe_layers")
_PASS, _M = "stage.pass", "batch.accumulation"

FACTS = (
    Fact("layer.least_time", "s", least_layer_time, ("engine.name", "layer.recomputed", "parallel.tensor", "parallel.pipeline", "parallel.sequence", "cluster.domain", "world.size")),
    Fact("layer.exchange", "s", layer_exchange, ("layer.tensor_exposed", "layer.context_exposed", _COMMUNICATION)),
    Fact("layer.time", "s", layer_time, ("layer.compute", "layer.exchange", "layer.least_time", _COMPUTE)),
    Fact("layer.moe_time", "s", moe_layer_time, ("layer.expert_compute", "layer.exchange", "layer.expert_time", "layer.least_time", _COMPUTE, _COMMUNICATION)),
    Fact("step.sends", "s", sends, ("communication.pipeline.exposed", _COMMUNICATION)),
    Fact(_PASS, "s", stage_pass, (*_LAYERS, "layer.time", "layer.moe_time", "stage.has_head", "layer.head", "model.mtp_layers", "model.experts.count?", "step.sends", _M, _COMPUTE)),
    Fact("stage.exchange", "s", stage_exchange, (*_LAYERS, "layer.exchange", "layer.expert_time", "step.sends", _M, _COMMUNICATION)),
    Fact("step.pass", "s", slowest_pass, ("stage.pass[]",)),
    Fact("step.passes", "s", all_passes, ("step.pass", _M)),
    Fact("step.compute", "s", step_compute, ("stage.pass[]", "stage.exchange[]", _M)),
    Fact("step.bubble", "s", step_bubble, (
        "step.pass", "model.layers", "model.moe_layers", "layer.time", "layer.moe_time", "layer.head", "model.mtp_layers",
        "model.experts.count?", "step.sends", _M, "parallel.pipeline", "pipeline", "pipeline.chunks?", "pipeline.bubble", _COMPUTE,
    )),
    Fact("step.communication", "s", step_communication, (
        "communication.tensor.exposed", "communication.context.exposed", "communication.expert.exposed", "communication.pipeline.exposed",
        "communication.data.exposed", "communication.shard.exposed", _COMMUNICATION,
    )),
    Fact("step.optimizer", "s", optimizer_time, (
        "stage.weights[]", "stage.gradients[]", "stage.optimizer[]", "kernel.memory_rate", "offload.optimizer?", "parallel.parameters_per_rank",
        "memory.optimizer_width", "memory.gradient_width", "shard.group", "shard.stage", "cluster.gpu.pcie?", "cluster.nodes", "world.size",
    )),
    Fact("step.overhead", "s", step_overhead, ()),
    Fact("step.time", "s", step_time, ("step.compute", "step.communication", "step.bubble", "step.optimizer", "step.overhead")),
    Fact("step.ideal", "s", ideal_time, ("step.flops", "flops.peak", "world.size")),
    Fact("step.recompute", "s", recompute_time, (
        "layer.recomputed", "recompute", "layer.projections", "layer.scores", "layer.mlp", "layer.elementwise", "engine.family", _M, "stage.layers[]",
    )),
    Fact("step.limit", "word", limit, (
        "step.ideal", "step.compute", "step.recompute", "step.bubble", "step.optimizer", "step.overhead", "step.communication",
        *(f"communication.{axis}.exposed" for axis in AXES),
    )),
    Fact("step.taken", "s", time_taken, ("step.measured?", "step.time~")),
)  # fmt: skip
