# Flags that Megatron's parser refuses: misspelt, shortened, of another type, without a value or with one too many.
MODEL=(
  --num-layers 3e1  # <- PLN063
  --hidden-size 1024
  --num-attention-heads=sixteen  # <- PLN063
  --seq-length 2048
  --max-position-embeddings 2048
  --sequence_parallel  # <- PLN062
  --recompute-granularity=ful  # <- PLN063
)
TRAINING=(
  --micro-batch-size 1
  --global-batch-size  # <- PLN063
  --train-iters 100
  --tensor-model-parallel 4  # <- PLN062
  --pipeline-model-parallel-size "$PP"
  --bf16 true  # <- PLN063
  --lr 1e-4 2e-4  # <- PLN063
  --lr-warmup-iter 10  # <- PLN062
  --checkpoint-activations  # <- PLN066
  --optimizer adamm  # <- PLN063
  --my-own-flag 3  # <- PLN062
)
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "${MODEL[@]}" "${TRAINING[@]}"
