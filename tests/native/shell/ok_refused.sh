# Command lines that their launchers take.
torchrun --nnodes=2:4 --nproc_per_node auto --rdzv-backend=c10d --rdzv-endpoint="$HOST" --max_restarts=3 train.py
torchrun --standalone --nproc_per_node=npu --tee 3 --redirects 0:3,1:2 --local-ranks-filter 0,1 train.py
torchrun --nproc_per_node 8 --rdzv-backend=c10d --rdzv-endpoint=[::1]:29500 --rdzv-conf timeout=900,join_timeout=60 train.py
torchrun --standalone --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --nproc_per_node "$N" -m train --nnodes 0
torchrun --nproc_per_node 8 --master_port 29501 --no-python ./train
torchrun --help
python -m torch.distributed.launch --use_env --nproc_per_node 8 train.py
torchrun $ARGS
accelerate launch --use_fsdp --fsdp_version 2 --use_parallelism_config --mixed-precision bf16 train.py --fp16 False
accelerate launch --multi_gpu --num_processes 2 --fp8_pad_inner_dim yes -m train
deepspeed --include=localhost:0,1 train.py --include all
deepspeed --num_gpus -1 --exclude=localhost:1 train.py
deepspeed --num_nodes "$N" --num_gpus 8 --launcher SLURM --hostfile "$HOSTS" train.py
torchrun --nnodes=2 --nproc_per_node 8 --node_rank 1 --master_addr=10.0.0.1 --master_port=29500 train.py
accelerate launch --rdzv_conf timeout=900 --num_processes 0 train.py
