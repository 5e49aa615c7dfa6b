# Failures that pipes hide: the option is set too late, or for another shell.
torchrun --standalone --nproc_per_node=8 train.py | tee log  # <- PLN081
srun bash -c 'torchrun --standalone --nproc_per_node=8 train.py |& tee log'  # <- PLN081
set -o pipefail
torchrun --standalone --nproc_per_node=8 train.py | tee log
srun bash -c 'torchrun --standalone --nproc_per_node=8 train.py | tee log'  # <- PLN081
set +o pipefail
torchrun --standalone --nproc_per_node=8 train.py | tee log  # <- PLN081
bash -c 'torchrun --standalone --nproc_per_node=8 train.py' 2>&1 | tee log  # <- PLN081
