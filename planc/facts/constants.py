"""Constants that no data sheet gives: each with its unit, its source, and the rows on which it was fitted.

`python -m tests.accuracy` shows how far the model is off with them, on the rows that they were fitted on and on others.
"""

from __future__ import annotations

from typing import NamedTuple


class Constant(NamedTuple):
    """A number that was measured or fitted.

    source: where it comes from.
    fitted_on: tables and families of the rows that it was fitted on; empty if it was read and not fitted.
    """

    value: float
    unit: str
    source: str
    fitted_on: str


CONTEXT_BYTES = Constant(0.75 * 2**30, "bytes", "context of CUDA with its kernels", "")
GROUP_BYTES = Constant(0.75 * 2**30, "bytes", "buffers of NCCL's channels, for each group of ranks", "11: bloom-h12288 and bloom-h14336")
WORKSPACE_BYTES = Constant(96 * 2**20, "bytes", "workspaces of matrix products and small buffers, which the allocator counts: part of the context", "13: golden-gpt")
RESERVED_SHARE = Constant(0.2, "share", "of what comes and goes in a step, on top of it; reserved memory is 5 to 15 % over what is allocated", "05, 11: llama-3-8b, bloom-h12288 and bloom-h14336")

ATTENTION_COPIES_NANOTRON = Constant(
    2.75, "factor", "of queries, keys, values and output that nanotron keeps: it joins and rotates them in tensors of their own", "10a: 1B and 80B"
)

FITTED_TIMES = "03, 06a, 06c, 10a, 11, 12, 16, 17: the models of `FIT` in tests/accuracy/split.py"


def _of_times(value: float, unit: str, source: str) -> Constant:
    """A constant that `python -m tests.accuracy.fit` found, with those that stand beside it, from measured step times."""
    return Constant(value, unit, source, FITTED_TIMES)


MATMUL_SHARE_AMPERE = _of_times(0.7065, "share", "of the peak that large matrix products reach, before their memory traffic; 08b: 0.87 at best")
MATMUL_SHARE = _of_times(0.6402, "share", "of the peak that large matrix products reach from Hopper on, where power limits the clock; 08b: 0.73 to 0.84 at best")
NARROW_SHARE = _of_times(0.745, "share", "of the peak that large matrix products in fp8 and fp4 reach, casts left out")
MATMUL_TRAFFIC = _of_times(0.5324, "share", "of the bytes of a product's three matrices that no arithmetic hides")
FUSED_ATTENTION_SHARE_AMPERE = _of_times(0.3238, "share", "of the peak that a fused attention kernel reaches, causal FLOPs counted")
FUSED_ATTENTION_SHARE = _of_times(0.1597, "share", "of the peak that a fused attention kernel reaches from Hopper on, causal FLOPs counted")
CUDNN_ATTENTION_SHARE = _of_times(0.4446, "share", "of the peak that the attention kernel of cuDNN reaches from Hopper on, causal FLOPs counted; TransformerEngine takes it under Megatron")
SCORE_TRAFFIC = _of_times(9.188, "bytes", "read and written for each score of plain attention, forward")
UNALIGNED_SLOWDOWN = Constant(16.0, "factor", "of products of heads whose width 8 does not divide, in plain attention: 312 over 19.5 TFLOPS, an A100 without tensor cores", "")
MEMORY_SHARE = Constant(0.85, "share", "of the memory bandwidth that streaming kernels reach: STREAM-like copies on data-centre cards", "")
HIDDEN_TRAFFIC = _of_times(10.42, "bytes", "read and written by norms, residuals, dropout and rotations of a layer for a token and unit of h, forward")
FFN_TRAFFIC = _of_times(7.349, "bytes", "read and written by the activation function for a token and unit of f, forward")
CAST_TRAFFIC = _of_times(13.89, "bytes", "read and written to quantize a number that goes into a product in fp8 or fp4, forward")
FUSED_TRAFFIC_SHARE = _of_times(0.06085, "share", "of the traffic of norms and activation functions that is left where norms and activation functions are one kernel each")
LOGIT_TRAFFIC = _of_times(3.788, "factor", "of the bytes that the loss keeps for each logit: read and written, forward and backward")
KERNEL_TIME = _of_times(0.0002473, "s", "that the many small kernels of a layer take beside their traffic, a forward pass")
LAUNCH_TIME = _of_times(0.0007742, "s", "that the host takes to launch the kernels of a layer, a forward pass")
LAUNCH_TIME_NANOTRON = _of_times(0.001427, "s", "that the host takes to launch the kernels of a layer in nanotron with tensor ranks, a forward pass")
LAUNCH_TIME_PER_RANK = _of_times(2.027e-05, "s", "that launching a layer takes more for each tensor rank of a fast domain, a forward pass")
STALL_TIME = _of_times(0.003413, "s", "of a layer, forward and backward, in nanotron with tensor ranks and a pipeline over several domains")
STALL_TIME_PER_RANK = _of_times(0.002145, "s", "that each tensor rank adds to this stall of a layer")
FAR_COLLECTIVE_TIME = Constant(1e-3, "s", "of an all-reduce of tensor ranks in nanotron for each further domain: 10a, 1B with tensor 16 and 32", "")
FAR_GATHER_TIME = Constant(4e-3, "s", "of a gather or scatter of tensor ranks in nanotron for each further domain: 10a", "")
PASS_TIME = _of_times(0.001302, "s", "of a micro batch on a stage, beside its layers")
STEP_TIME = _of_times(0.008973, "s", "of a step, beside its passes")
RING_SHARE = Constant(0.8, "share", "of the fast link's bandwidth that a collective reaches; 09a: 0.78 to 0.82", "")
SWITCH_SHARE = Constant(1.05, "share", "of the fast link's bandwidth that an all-reduce reaches which the switch adds up, from Hopper on; 09a: 1.05 and 0.93", "")
FAR_SHARE = Constant(0.5, "share", "of the bandwidth between domains that a collective reaches; 09a: 0.46 with 16 ranks", "")
TENSOR_OVERLAP = Constant(0.75, "share", "of the exchange of tensor ranks that products hide where they overlap (tp-comm-overlap)", "")
SEND_SHARE = Constant(0.8, "share", "of a link's bandwidth that a send from rank to rank reaches: one flow without a ring to wait for", "")
TREE_SHARE = _of_times(0.4297, "share", "of the bandwidth of a ring that a tree reaches")
HOP_TIME = Constant(3e-6, "s", "of a hop inside a fast domain: 09a, 44 us for 14 of them with the smallest message", "")
FAR_HOP_TIME = _of_times(3.931e-06, "s", "of a hop between domains")
SMALL_MESSAGE_SHARE = Constant(0.55, "share", "of the bandwidth that the protocol for small messages reaches: 09a, A100 below 16 MB", "")
LARGE_MESSAGE_HOPS = Constant(3.5, "factor", "of the time of a hop in the protocol for large messages: 09a, A100 from 32 MB on", "")
BUCKET = Constant(25e6, "bytes", "of gradients that are reduced at once: PyTorch, DistributedDataParallel, bucket_cap_mb = 25", "")
HOST_ADAM_RATE = Constant(1e10, "parameters/s", "that the hosts' cores of a node update: Ren et al., ZeRO-Offload (2021), table 4", "")
