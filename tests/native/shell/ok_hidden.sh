# As many cards as processes; cards that only the run knows; a launcher that heeds the variable.
CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node 2 train.py
CUDA_VISIBLE_DEVICES=$CARDS torchrun --standalone --nproc_per_node 4 train.py
CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node gpu train.py
CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node "${CARDS:-4}" train.py
CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch --num_processes 8 --num_machines 2 --machine_rank "$RANK" --main_process_ip "$HOST" train.py
CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 4 --gpu_ids 0,1,2,3 train.py
CUDA_VISIBLE_DEVICES=2,3 deepspeed train.py
CUDA_VISIBLE_DEVICES="" torchrun --standalone --nproc_per_node 2 train.py
CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 2 train.py
CUDA_VISIBLE_DEVICES=2,3 deepspeed --include=localhost:3,2 train.py
