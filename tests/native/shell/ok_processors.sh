# One training that is to see no card.
CUDA_VISIBLE_DEVICES=-1 torchrun --standalone --nproc_per_node 2 train.py
