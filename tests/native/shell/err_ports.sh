# Launches beside each other that listen on one port.
torchrun --nproc_per_node 4 --master_port 29501 a.py &
torchrun --nproc_per_node 4 --master_port 29501 b.py &  # <- PLN075
wait
CUDA_VISIBLE_DEVICES=0 deepspeed c.py &
CUDA_VISIBLE_DEVICES=1 deepspeed d.py  # <- PLN075
