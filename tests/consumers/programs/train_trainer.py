"""A Trainer of Hugging Face: it reads its arguments from the file that it is given, and trains by them."""

import json
import math
import os
import sys
import tempfile

import torch
from accelerate.state import PartialState
from accelerate.utils import DistributedType
from torch.distributed.tensor import DTensor
from transformers import HfArgumentParser, LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

with open(sys.argv[1]) as file:
    arguments = json.load(file)
arguments |= {"output_dir": tempfile.mkdtemp(), "save_strategy": "no", "disable_tqdm": True}
(args,) = HfArgumentParser([TrainingArguments]).parse_dict(arguments)
# accelerate 1.15 trains by DDP on a CPU whatever it is told: it goes on to FSDP from "several GPUs" only.
if args.fsdp:
    PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
config = LlamaConfig(
    hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, vocab_size=64, use_cache=False
)
data = [{"input_ids": torch.arange(8) + index, "labels": torch.arange(8) + index} for index in range(48)]
rates = []


class Rates(TrainerCallback):
    """Notes the rate of each step."""

    def on_pre_optimizer_step(self, args, state, control, optimizer=None, **others):
        """Before the step is made."""
        rates.append(round(optimizer.param_groups[0]["lr"], 9))


trainer = Trainer(LlamaForCausalLM(config), args, train_dataset=data, callbacks=[Rates()])
loss = trainer.train().training_loss
group = trainer.optimizer.param_groups[0]
report = {
    "rank": args.process_index,
    "world": args.world_size,
    "sharded": all(isinstance(parameter, DTensor) for parameter in trainer.model_wrapped.parameters()),
    "steps": trainer.state.global_step,
    "batch": trainer.get_total_train_batch_size(args),
    "micro": args.per_device_train_batch_size,
    "rates": rates,
    "optimizer": type(getattr(trainer.optimizer, "optimizer", trainer.optimizer)).__name__,
    "betas": list(group["betas"]),
    "decay": group["weight_decay"],
    "finite": math.isfinite(loss),
}
print(json.dumps(report), flush=True)
torch.distributed.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)
