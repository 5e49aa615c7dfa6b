"""What the two counts leave out, and why.

HARM: errors of planc that a plan's consumers do not refuse, by code. Most of them never see what the error is about:
torchrun and sbatch know nothing of models, DeepSpeed's file says no dimension of one. Where the consumer of a trainer
sees it, it has to refuse it, and the trainer is not listed. UNASKED: refusals that come from this machine. MISSED: what
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
    "PLN015": Harm(ALL, "no cards, a negative size, half a layer: no run is meant, but nothing divides by it"),
    "PLN101": Harm((*D, *A, *T, *S), "ranks are left over, or the program cannot build its groups"),
    "PLN102": Harm(ALL, "replicas follow from the world: every number that the plan worked out with others is wrong"),
    "PLN103": Harm((*D, *A, *T, *S), "the layer cannot be cut; only the model's code would say so, once it is built"),
    "PLN105": Harm((*D, *A, *T, *S), "the layer cannot be cut; only the model's code would say so, once it is built"),
    "PLN106": Harm((*D, *A, *T, *S), "stages are built by the program, with other layers than planned"),
    "PLN108": Harm(ALL, "layers that the plan leaves out; of two ends on one stage Megatron builds the first"),
    "PLN109": Harm((*D, *A, *S), "DeepSpeed's pipeline engine refuses it, once it has a model"),
    "PLN110": Harm(ALL, "the size of a head is rounded down: another model is trained, or none is built"),
    "PLN111": Harm(ALL, "a KV head serves an uneven number of heads: attention fails at its first product"),
    "PLN113": Harm(ALL, "the dimensions are those of another model than the stated one"),
    "PLN114": Harm(ALL, "the replicas do not make such shard groups: a mesh would have other ranks"),
    "PLN115": Harm((*D, *A, *T, *S), "experts that no rank holds; only the model's code would say so"),
    "PLN119": Harm((*D, *A, *T, *S), "layers on stages that are not there"),
    "PLN116": Harm((*D, *A, *T, *S), "no expert is there that the ranks could hold or split"),
    "PLN122": Harm((*D, *A, *T, *S), "expert groups are built by the program, and would have a rest"),
    "PLN123": Harm(ALL, "the heads cannot be shared out: the first attention fails, in code for cards only"),
    "PLN124": Harm(M, "TransformerEngine refuses it in the first attention; it is not there without a card"),
    "PLN153": Harm(S, "Slurm reads a limit of 0 as none, the opposite of what is written"),
    "PLN201": Harm(ALL, "another batch than the stated one is trained; trainers derive the accumulation"),
    "PLN204": Harm((*D, *A, *T, *S), "the sample cannot be cut: its first batch fails, or is cut unevenly"),
    "PLN202": Harm(M, "the written accumulation is not the one that Megatron derives from the batch"),
    "PLN205": Harm(ALL, "no batch follows from what is written, so no file can be written"),
    "PLN301": Harm(ALL, "out of memory, which no consumer works out before"),
    "PLN306": Harm(ALL, "out of the host's memory, which no consumer works out before"),
    "PLN307": Harm((*A, *T, *S), "no file of these carries the secondary size; DeepSpeed refuses it"),
    "PLN311": Harm(A, "accelerate trains with another optimizer"),
    "PLN317": Harm(M, "the forward pass stops at a layer beyond the last; no one looks before"),
    "PLN401": Harm(ALL, "the card lacks the dtype: an error, or emulation, on its first product"),
    "PLN406": Harm(D, "DeepSpeed reads 0 as a scale that it finds itself, the opposite of what is written"),
    "PLN501": Harm(ALL, "collectives of every layer go over the network: most of the cluster waits"),
    "PLN621": Harm(ALL, "the job waits for nodes that it does not have"),
    "PLN701": Harm((*D, *A, *T, *S), "the rate never reaches its peak"),
    "PLN702": Harm((*D, *A, *T, *S), "the rate rises where it should fall"),
    "PLN901": Harm(ALL, "the launcher starts nothing, or whatever follows on its command line"),
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
    "PLN961": Harm(M, "no flag says it: ranks would hold and exchange other pieces"),
    "PLN962": Harm(M, "no flag says it, and the run would hold other bytes"),
    "PLN963": Harm(M, "no flag says it: Megatron would keep another dtype, or train with another optimizer"),
    "PLN964": Harm(M, "Megatron builds another model"),
    "PLN965": Harm(M, "no flag says it, or Megatron-LM refuses it when it checks its flags"),
}  # fmt: skip

UNASKED: tuple[tuple[str, str, str], ...] = (
    ("megatron", "DeepEP is not installed", "the library of that dispatcher is not needed elsewhere"),
    ("megatron", "pin_memory", "there is no card whose memory could be pinned"),
    ("megatron", "ColumnParallelLinear when instantiating MLASelfAttention",
     "Megatron's own layers cut the low ranks of latent attention over the tensor ranks, TransformerEngine's do not"),
    ("megatron", r"isinstance\(\) arg", "what is not there of TransformerEngine is no type"),
)  # fmt: skip

MISSED: tuple[tuple[str, str, str], ...] = ()
