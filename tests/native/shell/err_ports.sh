# Launches beside each other that listen on one port.
torchrun --nproc_per_node 4 --master_port 29501 a.py &
torchrun --nproc_per_node 4 --master_port 29501 b.py &  # <- PLN075
wait
CUDA_VISIBLE_DEVICES=0 deepspeed c.py &
CUDA_VISIBLE_DEVICES=1 deepspeed d.py  # <- PLN075
wait
torchrun --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=localhost:29600 e.py &
torchrun --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=localhost:29600 f.py &  # <- PLN075
wait
for seed in 1 2 3; do
  CUDA_VISIBLE_DEVICES=$seed torchrun --nproc_per_node 1 --master_port 29501 g.py --seed $seed &  # <- PLN075
done
for seed in 1 2 3; do
  CUDA_VISIBLE_DEVICES=$seed deepspeed h.py --seed $seed &  # <- PLN075
done
