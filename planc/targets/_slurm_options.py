"""Which options of sbatch take a value: as the one of Slurm 22.05.8 answered for each, with and without."""

from __future__ import annotations

#: Flags: a value is refused.
FLAGS = frozenset((
    "contiguous", "hold", "ignore-pbs", "no-requeue", "overcommit", "oversubscribe", "parsable", "quiet", "reboot",
    "requeue", "spread-job", "test-only", "use-min-nodes", "verbose", "wait",
))  # fmt: skip

#: Options that need a value; of others, those of plugins and later versions among them, nothing is known.
VALUED = frozenset((
    "account", "acctg-freq", "array", "batch", "bb", "bbf", "begin", "chdir", "cluster", "cluster-constraint",
    "clusters", "comment", "constraint", "container", "core-spec", "cores-per-socket", "cpu-freq", "deadline",
    "delay-boot", "dependency", "distribution", "error", "exclude", "export", "export-file", "extra-node-info", "gid",
    "gpu-bind", "gpu-freq", "gres", "gres-flags", "hint", "input", "kill-on-invalid-dep", "licenses", "mail-type",
    "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network", "nodefile",
    "nodelist", "ntasks-per-core", "ntasks-per-socket", "open-mode", "output", "partition", "power", "prefer",
    "priority", "profile", "qos", "reservation", "signal", "sockets-per-node", "switches", "thread-spec",
    "threads-per-core", "time-min", "tmp", "uid", "wait-all-nodes", "wckey",
))  # fmt: skip
