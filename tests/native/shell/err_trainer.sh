# Arguments of the Trainer on a command line that its parser refuses, or no longer knows.
ARGS=(
  --output_dir out --per_device_train_batch_size 4 --mine 3
  --bf16 maybe  # <- PLN063
  --max_steps 1e3  # <- PLN063
  --learning_rate high  # <- PLN063
  --eval_strategy sometimes  # <- PLN063
  --gradient_acumulation_steps 4  # <- PLN062
  --evaluation_strategy no  # <- PLN066
)
torchrun --standalone --nproc_per_node=8 train.py "${ARGS[@]}"
