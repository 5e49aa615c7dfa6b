# Cards that a variable hides from a launcher, or that its launcher does not heed.
CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node 4 train.py  # <- PLN075
CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 4 train.py  # <- PLN075
env CUDA_VISIBLE_DEVICES=0 accelerate launch --multi_gpu --num_processes 2 train.py  # <- PLN075
accelerate launch --multi_gpu --num_processes 4 --gpu_ids 2,3 train.py  # <- PLN075
CUDA_VISIBLE_DEVICES=2,3 deepspeed --num_gpus 2 train.py  # <- PLN068
CUDA_VISIBLE_DEVICES=2,3 deepspeed --include=localhost:0,1 train.py  # <- PLN068
export CUDA_VISIBLE_DEVICES=4
torchrun --standalone --nproc_per_node 2 train.py  # <- PLN075
export CUDA_VISIBLE_DEVICES=0,1  # <- PLN068
deepspeed --num_gpus 4 train.py
