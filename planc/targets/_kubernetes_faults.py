"""What a plan may say that no Kubernetes file can: the kinds of fault of the target."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Severity
from planc.targets._faults import example, fault

_IMAGE = 'kubernetes { image = "registry.example/train:1" }'
_CHECKPOINTS = 'checkpoint { every = 500 steps  directory = "/checkpoints" }  '
_TWO = "global = 64  micro = 1"


def _plan(options: str = "", launch: str = _IMAGE, nodes: int = 1, before: str = "") -> str:
    chosen = f"kubernetes {{ {options} }}" if options else "kubernetes"
    rest = f'{before}emit = [{chosen}]  launch {{ script = "train.py"  {launch} }}'
    return example(rest, nodes=nodes) if nodes == 1 else example(rest, nodes=nodes, batch=_TWO)


MISSING_IMAGE = fault(
    "PLN986",
    "missing-pod-image",
    "Pods are emitted, and nothing says which image they run.",
    why="a pod has no programs but those of its image, and the API refuses a container without one.",
    example=_plan(launch=""),
    instead=_plan(),
    fix='write `launch { kubernetes { image = "..." } }`, or `container { image = "..." }` where Slurm runs the same. '
    "The image needs bash, torchrun and what the program imports.",
    source="Kubernetes API, PodSpec; training operator 1.9, webhooks/utils.",
    versions="Kubernetes 1.37.",
)

UNSAID = fault(
    "PLN987",
    "unsayable-in-a-pod",
    "A field of the plan has no place in the pods.",
    why="the file would leave it out and the pods would run without it: an image has no environment modules, the "
    "cluster has its own container runtime, sbatch is not there, and only JobSet makes all pods anew. Pods get cards "
    "by the name that a device plugin gives them: that of NVIDIA and AMD has one, that of Intel one for each driver.",
    example=_plan(launch=f'modules = ["cuda/12.8"]  {_IMAGE}'),
    instead=_plan(),
    fix="do as the help says, or leave the field to a target that has it: fields may be set in one plan of two that "
    "share a template.",
    source="Kubernetes API, PodSpec and JobSpec; JobSet, failurePolicy; the device plugins of NVIDIA, AMD and Intel.",
    versions="Kubernetes 1.37, JobSet v1alpha2.",
)

UNUSABLE_TEXT = fault(
    "PLN988",
    "unusable-kubernetes-text",
    "A name, label, amount or path has a form that Kubernetes refuses.",
    why="the API or an operator's webhook refuses the whole file, and some operators take it and fail later, when the "
    "names of pods and Services that follow from the job's turn out too long.",
    example=_plan('name = "Llama_8B"'),
    instead=_plan('name = "llama-8b"'),
    fix="write it as the help says. The job is called like the plan unless the option `name` says otherwise: small "
    "letters, digits and `-`, a letter first, and short enough that the pods' names have 63 characters.",
    source="Kubernetes, object names and labels, quantities; the webhooks of training operator 1.9 and JobSet.",
    versions="Kubernetes 1.37, training operator 1.9, JobSet v1alpha2.",
)

CLUSTER_VARIABLE = fault(
    "PLN989",
    "variable-of-the-cluster",
    "`launch.env` sets a variable that every pod gets from the cluster.",
    why="the operator, the Job controller or the file itself gives it another value in each pod, or the one that fits "
    "the job's names; a fixed one would be dropped, or send pods to a master that is not there.",
    example=_plan(launch=f'env {{ MASTER_ADDR = "node-1" }}  {_IMAGE}', nodes=2),
    instead=_plan(launch=f'env {{ MASTER_PORT = "29400" }}  {_IMAGE}', nodes=2),
    fix="leave it out; `MASTER_PORT` may be set, and is the port at which the pods meet.",
    source="training operator 1.9, controller.v1/pytorch; Kubeflow Trainer, plugins/torch; Kubernetes, indexed Jobs.",
    versions="training operator 1.9, Kubeflow Trainer 2.3.",
)

QUEUE = fault(
    "PLN990",
    "queue-without-scheduler",
    "A queue is named and no scheduler that knows it, or the other way round.",
    why="Kueue reads a label of the job and Volcano a field of its own; a queue that neither is told of is none, and "
    "Kueue starts nothing that names none.",
    example=_plan(launch='kubernetes { image = "registry.example/train:1"  queue = "research" }'),
    instead=_plan("gang = kueue", 'kubernetes { image = "registry.example/train:1"  queue = "research" }'),
    fix="write `emit = [kubernetes { gang = kueue }]` or `gang = volcano`, and `queue` in `launch.kubernetes`.",
    source="Kueue, label kueue.x-k8s.io/queue-name; Volcano, PodGroup.",
    versions="Kueue 0.14, Volcano's PodGroup v1beta1.",
)

NO_NETWORK_CARDS = fault(
    "PLN991",
    "pods-without-network-cards",
    "The nodes have network cards for NCCL, and the pods ask for none.",
    why="a container sees no device that it did not ask for. NCCL finds no RDMA card and sends over sockets, several "
    "times slower, without an error.",
    example=_plan(nodes=2).replace(
        "gpus_per_node = 8 }", "gpus_per_node = 8  nics { count = 8  speed = 400 Gbit/s } }"
    ),
    instead=_plan('rdma = ["rdma/hca=8"]', nodes=2).replace(
        "gpus_per_node = 8 }", "gpus_per_node = 8  nics { count = 8  speed = 400 Gbit/s } }"
    ),
    fix='name the resource of the cluster\'s device plugin: `emit = [kubernetes { rdma = ["rdma/hca=1"] }]`; '
    "`kubectl describe node` lists it. The container may then lock memory, which RDMA needs.",
    source="Kubernetes, device plugins; NCCL, NCCL_IB_HCA.",
    severity=Severity.WARNING,
)

LAUNCHER = fault(
    "PLN992",
    "pods-without-their-launcher",
    "The pods start another command than the plan's trainer needs.",
    why="the pods run one script. accelerate reads the layout from a file that is there only if it is emitted; a "
    "trainer with flags or a file of its own would never hear of them from another's script; and gpt-neox starts all "
    "nodes from one of them.",
    example=_plan("launcher = accelerate"),
    instead=_plan(before="shard { stage = 3 }  ").replace("emit = [kubernetes]", "emit = [kubernetes, accelerate]"),
    fix="emit `accelerate` too, or leave the launcher to planc; emit one such trainer in a plan.",
    source="templates of the launch scripts.",
    versions="planc 0.1.",
)

LOST_CHECKPOINTS = fault(
    "PLN993",
    "checkpoints-end-with-the-pod",
    "Checkpoints are saved to, or read from, a folder of the pod itself.",
    why="a container's own files are gone when its pod ends, whether the run is done or a node has failed: what a "
    "restart would need is lost with what it was saved from.",
    example=_plan(before=_CHECKPOINTS),
    instead=_plan('claims = ["run-1:/checkpoints"]', before=_CHECKPOINTS),
    fix='mount a volume there: `emit = [kubernetes { claims = ["CLAIM:/checkpoints"] }]`, or a folder of the nodes '
    "with `launch.container.mounts`.",
    source="Kubernetes, volumes and ephemeral storage.",
    severity=Severity.WARNING,
)
