# Flags over the TOML file of torchtitan 0.2: what it has another place or no name for, and values of another type.
FLAGS=(
  --training.local_batch_sise 4  # <- PLN062
  --training.own_setting 4  # <- PLN062
  --training.steps many  # <- PLN063
  --training.enable_cpu_offload=true  # <- PLN063
)
torchrun --nproc_per_node 8 --nnodes 1 torchtitan/train.py --job.config_file="$CONFIG" "${FLAGS[@]}"
