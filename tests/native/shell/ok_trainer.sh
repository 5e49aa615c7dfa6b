# Arguments of the Trainer as its parser reads them, beside those of the program.
ARGS=(
  --output_dir out --per_device_train_batch_size 4 --mine maybe
  --bf16 yes --fp16 0
  --max_steps 1000
  --learning_rate 1
  --eval_strategy no
  --logging_steps 0.1 --ddp_timeout 7200
  --gradient_checkpointing --lr_scheduler_kwargs '{"num_cycles": 2}' --seed "$SEED"
)
torchrun --standalone --nproc_per_node=8 train.py "${ARGS[@]}"
