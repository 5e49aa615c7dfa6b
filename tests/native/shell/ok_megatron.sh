# Flags that Megatron's parser takes: several values, texts that are numbers, values that only the run knows.
MODEL=(
  --num-layers 30 --hidden-size 1024 --num-attention-heads=16 --seq-length 2048 --max-position-embeddings 2048
  --recompute-granularity=full --recompute-method uniform --recompute-num-layers "$LAYERS"
  --pipeline-model-parallel-size "$PP" --tensor-model-parallel-size $TP
)
TRAINING=(
  --micro-batch-size "${MBS:-1}" --global-batch-size $GBS --train-samples 1_000_000 --rampup-batch-size 16 16 1000
  --data-path 0.5 first 0.5 second --split '99,1,0' --lr 1e-4 --min-lr 0 --bf16 --init-method-std 2e-2
)
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "${MODEL[@]}" "${TRAINING[@]}" $EXTRA
