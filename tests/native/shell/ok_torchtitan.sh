# Flags that torchtitan 0.3 takes: either dash, switches on and off, several values, none for a setting, a policy last.
FLAGS=(
  --module llama3 --config llama3_8b --training.local-batch-size 4 --training.max_norm inf --debug.seed None
  --compile.enable --compile.no-enable-async-tensor-parallel --compile.components model,loss
  --optimizer.param_groups.0.optimizer_kwargs.betas 0.9 0.95 --checkpoint.enable --dataloader.own_setting 5
  --parallelism.module_fqns_per_model_part tok_embeddings,layers.0 layers.1,norm,lm_head --training.seq_len "$LENGTH"
  activation-checkpoint:memory-budget --activation-checkpoint.memory-budget 0.5
)
torchrun --nproc_per_node 8 --nnodes 1 -m torchtitan.train "${FLAGS[@]}"
