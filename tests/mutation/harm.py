"""What the two counts leave out, and why.

HARM: errors of planc that a plan's consumers do not refuse, by code. Most consumers never see what the error is about:
torchrun and sbatch know nothing of models, DeepSpeed's file says no dimension of one. Where a consumer of another trainer
sees it, that one has to refuse it: it is not in the list of the trainers. UNASKED: refusals of this machine. MISSED: what
a consumer refuses and planc does not report.
"""

from __future__ import annotations

from typing import NamedTuple


class Harm(NamedTuple):
    """The trainers whose consumers let an error pass, and what it does then."""

    trainers: tuple[str, ...]
    reason: str


D, A, T, S, M = ("deepspeed",), ("accelerate",), ("torchrun",), ("slurm",), ("megatron",)
ALL = (*D, *A, *T, *S, *M)

HARM: dict[str, Harm] = {
    "PLN012": Harm(ALL, "a field without which there is no file to be written, or nothing to be counted"),
    "PLN015": Harm(ALL, "no cards, a negative size, half a layer: no run is meant by it; consumers take what they do not "
                   "divide by"),
    "PLN101": Harm((*D, *A, *T, *S), "ranks are left over, or the program cannot build its groups; torchrun starts them all"),
    "PLN102": Harm(ALL, "replicas follow from the world: every number that the plan worked out with others is wrong"),
    "PLN103": Harm((*D, *A, *T, *S), "the layer cannot be cut; only the model's code would say so, once it is built"),
    "PLN105": Harm((*D, *A, *T, *S), "the layer cannot be cut; only the model's code would say so, once it is built"),
    "PLN106": Harm((*D, *A, *T, *S), "the stages are built by the program, with ranks that have other layers than planned"),
    "PLN108": Harm((*D, *A, *T, *S), "layers that the plan's own split leaves out, or has twice"),
    "PLN109": Harm((*D, *A, *S), "DeepSpeed's pipeline engine refuses it, once it has a model"),
    "PLN110": Harm(ALL, "the size of a head is rounded down: another model is trained, or none is built"),
    "PLN111": Harm(ALL, "a KV head serves an uneven number of heads: attention fails at its first product"),
    "PLN113": Harm(ALL, "the dimensions are those of another model than the stated one"),
    "PLN114": Harm((*D, *A, *T, *S), "shard groups that the replicas do not make: the program's mesh would have other ranks"),
    "PLN115": Harm((*D, *A, *T, *S), "experts that no rank holds; only the model's code would say so"),
    "PLN116": Harm((*D, *A, *T, *S), "the ranks train as if they were not asked to hold experts"),
    "PLN119": Harm((*D, *A, *T, *S), "layers on stages that are not there"),
    "PLN123": Harm((*D, *A, *T, *S), "Ulysses cannot share out the heads: the first attention fails"),
    "PLN201": Harm(ALL, "the batch that is trained is not the stated one; accumulation follows from it in the trainers"),
    "PLN204": Harm((*D, *A, *T, *S), "the sample cannot be cut: its first batch fails, or is cut unevenly"),
    "PLN205": Harm(ALL, "no batch follows from what is written, so no file can be written"),
    "PLN301": Harm(ALL, "out of memory, which no consumer works out before"),
    "PLN306": Harm(ALL, "out of the host's memory, which no consumer works out before"),
    "PLN307": Harm((*A, *T, *S), "no file of these carries the secondary size; DeepSpeed refuses it"),
    "PLN401": Harm(ALL, "the card lacks the dtype: an error, or emulation, on its first product"),
    "PLN501": Harm(ALL, "collectives of every layer go over the network: most of the cluster waits"),
    "PLN621": Harm(ALL, "the job waits for nodes that it does not have"),
    "PLN701": Harm((*D, *A, *T, *S), "the rate never reaches its peak"),
    "PLN702": Harm((*D, *A, *T, *S), "the rate rises where it should fall"),
    "PLN901": Harm((*D, *A, *T, *S), "the launcher starts nothing, or whatever follows on its command line"),
    "PLN904": Harm(ALL, "the job waits for all nodes although the plan says fewer would do"),
    "PLN908": Harm(ALL, "the environment is not activated: another Python runs"),
    "PLN931": Harm((*D, *S), "DeepSpeed does something else: the file has no place for it"),
    "PLN932": Harm((*D, *S), "DeepSpeed ignores it, and holds other bytes than planned"),
    "PLN933": Harm((*D, *S), "DeepSpeed keeps another dtype, or its engine refuses it once it has a model"),
    "PLN934": Harm((*D, *S), "DeepSpeed finds no such optimizer, or argument of it, once it has a model"),
    "PLN935": Harm((*D, *S), "DeepSpeed follows another schedule"),
    "PLN941": Harm((*A, *S), "accelerate's files have no place for the axis: it would not be there"),
    "PLN942": Harm((*A, *S), "accelerate's files have no place for it, and the run would hold other bytes"),
    "PLN943": Harm((*A, *S), "accelerate's files say one word for all dtypes"),
}  # fmt: skip

UNASKED: tuple[tuple[str, str, str], ...] = (
    ("megatron", "DeepEP is not installed", "the library of that dispatcher is not needed elsewhere"),
    ("megatron", "pin_memory", "there is no card whose memory could be pinned"),
    ("megatron", r"instantiating ColumnParallelLinear when instantiating MLASelfAttention", "Megatron's own layers cut the "
     "low ranks of latent attention over the tensor ranks; TransformerEngine's, with which it is trained, do not"),
)  # fmt: skip

MISSED: tuple[tuple[str, str, str], ...] = (
    ("megatron", r"^Exception: \S+ optimizer is not supported", "the target of Megatron will refuse it, once it is written"),
)
