# Launches one after the other, on ports of their own, or on free ones.
torchrun --nproc_per_node 4 --master_port 29501 a.py &
torchrun --nproc_per_node 4 --master_port 29502 b.py &
wait
torchrun --nproc_per_node 4 --master_port 29501 c.py
torchrun --nproc_per_node 4 --master_port 29501 d.py
torchrun --standalone --nproc_per_node 4 e.py &
torchrun --standalone --nproc_per_node 4 f.py &
torchrun --nproc_per_node 4 --master_port "$PORT" g.py &
torchrun --nproc_per_node 4 --master_port "$PORT" h.py &
accelerate launch --main_process_port 29503 i.py &
accelerate launch --main_process_port 29503 j.py &
ssh "$OTHER" torchrun --nproc_per_node 4 --master_port 29504 k.py &
torchrun --nproc_per_node 4 --master_port 29504 l.py
wait
torchrun --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=localhost:29600 --rdzv-id=m m.py &
torchrun --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=localhost:29600 --rdzv-id=n n.py &
torchrun --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 o.py &
torchrun --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=localhost:0 p.py
for seed in 1 2 3; do
  CUDA_VISIBLE_DEVICES=$seed torchrun --nproc_per_node 1 --master_port $((29500 + seed)) q.py --seed $seed &
  torchrun --nproc_per_node 1 --master_port 29501 r.py --seed $seed
done
for seed in 1 2 3; do
  torchrun --nproc_per_node 1 --master_port 29501 s.py --seed $seed &
  wait
done
for host in one two; do
  ssh "$host" torchrun --nnodes=2 --nproc_per_node 8 --node_rank "$RANK" --master_addr one --master_port 29501 t.py &
done
