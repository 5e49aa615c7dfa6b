# A program that no launcher starts; what prepares for it is none that trains.
python prepare.py --bf16 --fp16
python pretrain_gpt.py --num-layers 80 --hidden-size 8192 --num-attention-heads 64 --bf16 --fp16  # <- PLN075
