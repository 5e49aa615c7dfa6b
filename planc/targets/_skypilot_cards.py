"""What SkyPilot calls the cards of the catalogue.

The names are those of its list of accelerators (catalogs/v8/common/accelerators.csv, which SkyPilot 0.14.1 reads) and,
for GB200 and GB300, of the cards that it knows on Kubernetes (sky/utils/gpu_names.py). `A100-80GB` and `H100` are sold
with NVLink and on PCIe under the same name; a plan for a PCIe card has to say which offer it means.
"""

from __future__ import annotations

NAMES = {
    "v100-sxm-16gb": "V100",
    "v100-sxm-32gb": "V100-32GB",
    "a100-sxm-40gb": "A100",
    "a100-sxm-80gb": "A100-80GB",
    "h100-sxm-80gb": "H100",
    "h200-sxm-141gb": "H200",
    "b200-sxm-180gb": "B200",
    "gb200-nvl72-186gb": "GB200",
    "gb300-nvl72-288gb": "GB300",
    "l4-24gb": "L4",
    "rtx-3090-24gb": "RTX3090",
    "rtx-4090-24gb": "RTX4090",
    "rtx-5090-32gb": "RTX5090",
    "mi300x-192gb": "MI300X",
}
