# Nodes that each wait for themselves, and a failure that nobody sees.
torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=localhost:29500 train.py  # <- PLN075
torchrun --nnodes=2 --nproc-per-node=8 --master-addr=127.0.0.1 train.py  # <- PLN075
torchrun --nnodes=4 --nproc-per-node=8 train.py  # <- PLN070
torchrun --nnodes=2 --standalone --nproc-per-node=8 train.py  # <- PLN075
torchrun --standalone --nproc-per-node=8 train.py | tee log  # <- PLN081
torchrun --standalone --nprocs-per-node=8 train.py  # <- PLN062
