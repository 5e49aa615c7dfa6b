# Flags of a program that was made from Megatron: its own ones, words and numbers of values that Megatron has not.
ARGS="--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048
  --micro-batch-size 16 --global-batch-size 128 --train-iters 30 --lr 6.0e-4 --checkpoint-activations
  --deepspeed --deepspeed_config=$CONFIG --zero-stage=1 --deepspeed-activation-checkpointing --num-experts 64 64
  --tokenizer-type PretrainedFromHF --use-fused-rmsnorm"
deepspeed --num_gpus 8 pretrain_gpt.py $ARGS
