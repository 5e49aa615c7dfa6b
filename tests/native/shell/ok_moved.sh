# Configurations that are fetched or made, or looked for in another folder.
wget -O fetched.json https://example.org/ds.json
python generate.py --out=made/ds.json
torchrun --standalone --nproc_per_node=8 train.py --deepspeed fetched.json --bf16 True --output_dir out
torchrun --standalone --nproc_per_node=8 train.py --deepspeed made/ds.json --bf16 True --output_dir out
cd "$WORK"
torchrun --standalone --nproc_per_node=8 train.py --deepspeed conf/ds.json --bf16 True --output_dir out
