# Command lines that their launchers refuse.
torchrun --nnodes=4:2 --nproc_per_node 8 train.py  # <- PLN063
torchrun --nnodes=0 --nproc_per_node 8 train.py  # <- PLN063
torchrun --nnodes=two --nproc_per_node 8 train.py  # <- PLN063
torchrun --standalone --nproc_per_node=cuda train.py  # <- PLN063
torchrun --standalone --nproc_per_node=0 train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 --max_restarts=-1 train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 --max_restarts=none train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 --monitor_interval=0 train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 --tee=4 train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 --local-ranks-filter=all train.py  # <- PLN063
torchrun --nproc_per_node 8 --rdzv-backend=c10d --rdzv-conf=timeout train.py  # <- PLN063
torchrun --nproc_per_node 8 --rdzv-backend=c10 --rdzv-endpoint=host:29500 train.py  # <- PLN063
torchrun --nproc_per_node 8 --rdzv-endpoint=host train.py  # <- PLN063
torchrun --nproc_per_node 8 --rdzv-backend=c10d --rdzv-endpoint=host:port train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 --start-method=spown train.py  # <- PLN063
torchrun --standalone --nproc_per_node 8 -m --no-python train  # <- PLN075
torchrun --standalone --nproc_per_node 8 --master_port 29501 train.py  # <- PLN068
torchrun --nnodes=2 --nproc_per_node 8 --rdzv-backend=c10d --master_addr "$HOST" train.py  # <- PLN075
torchrun --nnodes --nproc_per_node 8 train.py  # <- PLN070
torchrun --standalone --nproc_per_node 8  # <- PLN070
torchrun --standalone --use-env train.py  # <- PLN062
accelerate launch --use_fsdp --use_deepspeed train.py  # <- PLN075
accelerate launch --multi_gpu --num_processes 1 train.py  # <- PLN075
accelerate launch --use_parallelism_config train.py  # <- PLN070
accelerate launch --num_procesess 4 train.py  # <- PLN062
accelerate launch --mixed_precison bf16 train.py  # <- PLN062
accelerate launch --mixed_precision bfloat16 train.py  # <- PLN063
accelerate launch --num_processes four train.py  # <- PLN063
accelerate launch -m --no_python train  # <- PLN075
accelerate launch --zero_stage 3 train.py  # <- PLN068
accelerate launch --mixed_precision bf16 train.py --fp16 True  # <- PLN075
deepspeed --num_gpus 4 --include=localhost:0,1 train.py  # <- PLN075
deepspeed --include=localhost:0 --exclude=localhost:1 train.py  # <- PLN075
deepspeed --include=localhost:a train.py  # <- PLN063
deepspeed --num_nodes 2 train.py  # <- PLN070
deepspeed --no_ssh --num_gpus 8 train.py  # <- PLN070
deepspeed --no_ssh --node_rank=2 --num_nodes=2 --hostfile=hosts train.py  # <- PLN075
deepspeed --launcher=pdhs train.py  # <- PLN063
deepspeed --num_gpu four train.py  # <- PLN063
torchrun --nnodes=2 --nproc_per_node 8 --node_rank 0 --master_addr=a=b train.py  # <- PLN063
torchrun --nnodes=2 --nproc_per_node 8 --node_rank 0 --master_addr="$HOST" --master_port=99999 train.py  # <- PLN063
torchrun --nnodes=2 --nproc_per_node 8 --node_rank 2 --master_addr="$HOST" train.py  # <- PLN075
accelerate launch --rdzv_conf a train.py  # <- PLN063
accelerate launch --use_fsdp --num_processes 0 train.py  # <- PLN063
deepspeed --include=worker-1:0 train.py  # <- PLN070
