"""The kinds of fault that a checkpoint shows when a plan is to go on from it, each with its page."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity


def _fault(code: str, name: str, severity: Severity, page: str) -> Fault:
    return Fault(code, name, severity, f"{page}\n\nVersions: all.\n")


OTHER_PARAMETERS = _fault(
    "PLN854", "other-parameters-in-checkpoint", Severity.ERROR,
    """The checkpoint holds another number of parameters than the model.

Why: tensors that are missing, or of other shapes, cannot be loaded: the run stops when its nodes have started, or
leaves layers at random where the program does not insist.

Example: `planc lint --checkpoint DIR run.plan`, where the plan has a `resume` section and a model of 32 layers, and
`DIR` holds one of 16.

Instead: the folder of a checkpoint of that model.

Fix: name the checkpoint of this model, or give the model the dimensions of that one. A tied output layer that is
saved a second time and a padded vocabulary are allowed for; adapters are not compared.

Source: torch/nn/modules/module.py of torch 2.13, load_state_dict: sizes have to match."""
)  # fmt: skip

OTHER_RANKS = _fault(
    "PLN855", "checkpoint-of-other-ranks", Severity.ERROR,
    """The checkpoint was written by other ranks, and its format cannot be cut anew.

Why: a ZeRO checkpoint holds a file for each rank that shared the states, and DeepSpeed refuses another number of
them, or of tensor ranks and stages. The older format of Megatron-LM has a folder for each tensor rank and stage,
which are read by the same number.

Example: `planc lint --checkpoint DIR run.plan`, where the plan has a `resume` section, 16 replicas and ZeRO stage
2, and `DIR` holds `zero_pp_rank_0` to `zero_pp_rank_7`.

Instead: as many replicas as wrote the checkpoint; or its conversion with DeepSpeed's `ds_to_universal.py`, and
`checkpoint { format = universal }`.

Fix: use as many ranks as before, or convert the checkpoint.

Source: deepspeed 0.19.8, runtime/engine.py, _load_zero_checkpoint; Megatron-LM, checkpointing.py,
get_checkpoint_name."""
)  # fmt: skip

CUT_ANEW = _fault(
    "PLN856", "checkpoint-cut-anew", Severity.INFO,
    """The checkpoint was written by other ranks, and is cut anew when it is read.

Why: torch's distributed checkpoints, DeepSpeed's universal ones and weights in safetensors can be read by any number
of ranks. What goes on is the same model; loaders of data and the order of samples are another matter.

Example: `planc lint --checkpoint DIR --min-severity info run.plan`, where the plan has a `resume` section and 2
tensor ranks, and `DIR` holds a checkpoint of Megatron's distributed format that was written by 4.

Instead: the layout that wrote the checkpoint.

Fix: nothing has to be done; expect the first read to take longer.

Source: torch 2.13, torch/distributed/checkpoint; deepspeed 0.19.8, checkpoint/universal_checkpoint.py."""
)  # fmt: skip

UNUSABLE_CHECKPOINT = _fault(
    "PLN857", "unusable-checkpoint", Severity.ERROR,
    """The checkpoint is not there, not whole, or of a form that the plan does not read.

Why: a file that was never written, or is shorter than its header says, shows when the nodes have started. A folder
may hold other steps than the plan's `resume.step`, and its `latest` may name one that is gone. A universal checkpoint
of DeepSpeed is read with `format = universal` only, and nothing else is.

Example: `planc lint --checkpoint DIR run.plan`, where the plan has `resume { step = 500 }`, and `DIR` holds the steps
400 and 600.

Instead: `resume { step = 600 }`.

Fix: name a step that is there, or mend the folder.

Source: deepspeed 0.19.8, runtime/engine.py, load_checkpoint; runtime/base_optimizer.py, which reads the folder
`zero`."""
)  # fmt: skip

FAULTS = (OTHER_PARAMETERS, OTHER_RANKS, CUT_ANEW, UNUSABLE_CHECKPOINT)
