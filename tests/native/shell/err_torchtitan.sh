# Flags that torchtitan 0.3 refuses: unknown, misplaced, a switch with a value, of another type, behind the policy.
FLAGS=(
  --module llama3
  --config llama3_8B  # <- PLN063
  --training.local_batch_sise 4  # <- PLN062
  --trainings.seq_len 4096  # <- PLN062
  --seq_len 8192  # <- PLN067
  --training.steps 1e4  # <- PLN063
  --training.mixed_precision_param bf16  # <- PLN063
  --compile.enable True  # <- PLN063
  --metrics.log_freq 1 2  # <- PLN063
  --debug.seed  # <- PLN063
  activation-checkpoint:full
  --checkpoint.interval 10  # <- PLN067
)
torchrun --nproc_per_node 8 --nnodes 1 -m torchtitan.train "${FLAGS[@]}"
