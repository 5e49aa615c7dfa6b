"""Programs that start another one with their own words before it."""

from __future__ import annotations

import re
from typing import NamedTuple

from planc.native.shell.model import Assignment
from planc.native.shell.options import Grammar, grammar, grammar_of, line_of
from planc.native.shell.values import Word

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")


class Wrapper(NamedTuple):
    """A program that starts another one.

    options: its own; places: words between them and the program, as a container's image; sets: variables may stand
    there.
    """

    options: Grammar
    places: int = 0
    sets: bool = False


class Unwrapped(NamedTuple):
    """The words from the program on, and the variables that are set for it."""

    words: tuple[Word, ...]
    environment: tuple[Assignment, ...] = ()


# Apptainer 1.4, cmd/internal/cli/action_flags.go; SingularityCE has the same.
_APPTAINER = grammar(
    "-B --bind --mount -H --home -o --overlay -S --scratch -W --workdir --cwd --pwd --hostname --network --network-args"
    " --dns --security --apply-cgroups --fusemount --no-mount --add-caps --drop-caps --env --env-file --app"
    " --dmtcp-launch --dmtcp-restart --blkio-weight --blkio-weight-device --cpu-shares --cpus --cpuset-cpus"
    " --cpuset-mems --memory --memory-reservation --memory-swap --pids-limit --pem-path --docker-host --docker-username"
    " --docker-password",
    "--nv --nvccli --rocm -e --cleanenv --compat -c --contain -C --containall -w --writable --writable-tmpfs --no-home"
    " --no-init -f --fakeroot --disable-cache -p --pid -i --ipc -n --net --uts -u --userns --keep-privs --no-privs"
    " --allow-setuid --no-umask --no-eval --unsquash --oom-kill-disable --underlay --passphrase --no-https"
    " --docker-login",
)
_DOCKER_EXEC = grammar(
    "-e --env --env-file -u --user -w --workdir --detach-keys", "-d --detach -i --interactive -t --tty --privileged"
)
_CONDA_RUN = grammar("-n --name -p --prefix --cwd", "--no-capture-output --live-stream -v --verbose")

#: By name, and by name and the first word after it. GNU coreutils 9.1, util-linux 2.38, numactl 2.0.16, bash 5.2.
_WRAPPERS: dict[str, Wrapper] = {
    "command": Wrapper(grammar("", "-p")),
    "env": Wrapper(
        grammar("-u --unset -C --chdir", "-i --ignore-environment -v --debug"),
        sets=True,
    ),
    "exec": Wrapper(grammar("-a", "-c -l")),
    "ionice": Wrapper(grammar("-c --class -n --classdata", "-t --ignore")),
    "nice": Wrapper(grammar("-n --adjustment")),
    "nohup": Wrapper(grammar("")),
    "numactl": Wrapper(
        grammar(
            "-i --interleave -p --preferred -P --preferred-many -C --physcpubind -N --cpunodebind -m --membind"
            " --cpubind",
            "-a --all -b --balancing -l --localalloc",
        )
    ),
    "setsid": Wrapper(grammar("", "-c --ctty -f --fork -w --wait")),
    "stdbuf": Wrapper(grammar("-i --input -o --output -e --error")),
    "taskset": Wrapper(grammar("", "-a --all-tasks -c --cpu-list"), places=1),
    "time": Wrapper(grammar("-f --format -o --output", "-p --portability -v --verbose -a --append -q --quiet")),
    "timeout": Wrapper(grammar("-k --kill-after -s --signal", "--preserve-status --foreground -v --verbose"), places=1),
    "apptainer exec": Wrapper(_APPTAINER, places=1),
    "singularity exec": Wrapper(_APPTAINER, places=1),
    "conda run": Wrapper(_CONDA_RUN),
    "mamba run": Wrapper(_CONDA_RUN),
    "micromamba run": Wrapper(_CONDA_RUN),
    "docker exec": Wrapper(_DOCKER_EXEC, places=1),
    "podman exec": Wrapper(_DOCKER_EXEC, places=1),
    # Nsight Systems, User Guide, "Command Line Options": each takes a value.
    "nsys profile": Wrapper(
        grammar(
            "-b --backtrace -c --capture-range --capture-range-end --cuda-graph-trace --cuda-memory-usage -d --duration"
            " -e --env-var --export -f --force-overwrite --gpu-metrics-device --gpu-metrics-devices --kill"
            " -n --inherit-environment -o --output -p --nvtx-capture --python-sampling -s --sample --stats -t --trace"
            " -w --show-output --wait -x --stop-on-exit -y --delay"
        )
    ),
    "pipenv run": Wrapper(grammar("")),
    "poetry run": Wrapper(grammar("")),
    "uv run": Wrapper(grammar("")),
}
_CONTAINERS = {"docker run", "podman run"}


def unwrap(name: str, words: tuple[Word, ...]) -> Unwrapped | None:
    """What a command starts that is one of these; None if it is none, or that cannot be told.

    name: of the command, without its folder; words: all of it.
    """
    wrapper, after = _WRAPPERS.get(name), words[1:]
    if wrapper is None and len(words) > 1 and words[1].known is not None:
        both = f"{name} {words[1].known}"
        docker = grammar_of("docker")._replace(lenient=False)
        wrapper = Wrapper(docker, places=1) if both in _CONTAINERS else _WRAPPERS.get(both)
        after = words[2:]
    if wrapper is None:
        return None
    line = line_of(after, wrapper.options)
    if line.strange or any(option.name == "entrypoint" for option in line.options):
        return None
    rest = line.rest
    environment: list[Assignment] = []
    while wrapper.sets and rest and (found := _ASSIGNMENT.match(rest[0].prefix)):
        environment.append(Assignment(found[1], rest[0].span, (rest[0].after(found.end()),)))
        rest = rest[1:]
    if len(rest) <= wrapper.places:
        return None
    return Unwrapped(rest[wrapper.places :], tuple(environment))
