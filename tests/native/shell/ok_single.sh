# One node; a log of a training whose failure shows.
set -o pipefail
GPUS=${GPUS:-8}
torchrun --standalone --nproc_per_node "$GPUS" train.py --lr 1e-4 2>&1 | tee log
