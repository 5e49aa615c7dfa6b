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
