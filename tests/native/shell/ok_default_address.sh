# Nodes that meet at this machine only where nobody says another: the environment may have one.
torchrun --nnodes=4 --node-rank=$RANK --nproc-per-node=8 --master-addr=${MASTER_ADDR:-localhost} train.py
torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=${HEAD:-127.0.0.1}:29500 train.py
