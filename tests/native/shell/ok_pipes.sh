# Pipes whose failures show.
if [ -n "$STRICT" ]; then set -o pipefail; fi
torchrun --standalone --nproc_per_node=8 train.py | tee log
set -o pipefail
srun bash -o pipefail -c 'torchrun --standalone --nproc_per_node=8 train.py | tee log'
srun bash -c 'set -o pipefail; torchrun --standalone --nproc_per_node=8 train.py | tee log'
eval 'torchrun --standalone --nproc_per_node=8 train.py | tee log'
torchrun --standalone --nproc_per_node=8 train.py > >(tee log)
bash -c 'torchrun --standalone --nproc_per_node=8 train.py' 2>&1 | tee log
