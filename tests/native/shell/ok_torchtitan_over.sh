# Flags over the TOML file of torchtitan 0.2, and flags of which nothing tells the release.
CONFIG=${CONFIG:-llama3_8b.toml}
torchrun --nproc_per_node 8 --nnodes 1 -m torchtitan.train --job.config_file $CONFIG --training.steps 10 \
  --parallelism.tensor-parallel-degree=2 --model.flavor 8B --activation_checkpoint.mode full \
  --model.converters quantize.linear.float8,other --training.enable_cpu_offload
