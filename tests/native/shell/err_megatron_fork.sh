# A slip, and no number, in flags of a program that was made from Megatron and has more of its own.
ARGS=(
  --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048
  --zero-stage 1 --cpu-optimizer --no-pipeline-parallel
  --micro-batch-sise 16  # <- PLN062
  --train-iters 30k  # <- PLN063
  --bf16
)
torchrun --nproc_per_node 8 --nnodes 1 train.py "${ARGS[@]}"
