"""Scripts with several launches, which are jobs of their own, and with configurations that they write themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.native.kinds._script_launches import is_certain
from planc.native.shell.launching import launches
from tests.commands.cli import planc
from tests.native.judging import found_in, plan_text
from tests.native.shell.scripts import script
from tests.native.shell.test_following import lint

TRAIN = "torchrun --standalone --nproc_per_node=8 t.py --output_dir out --bf16"
SHEBANG = "#!/bin/bash\n"


def test_each_launch_is_held_against_the_files_that_it_names(tmp_path: Path) -> None:
    text = (
        f"{SHEBANG}{TRAIN} --deepspeed one.json --per_device_train_batch_size 4\n"
        f"{TRAIN} --deepspeed two.json --per_device_train_batch_size 8\n"
    )
    one, two = '{"train_micro_batch_size_per_gpu": 4}', '{"train_micro_batch_size_per_gpu": 2}'
    (found,) = lint(tmp_path, "a.sh", a_sh=text, one_json=one, two_json=two)
    assert found.startswith("two.json:1:2: error[PLN071]")
    assert lint(tmp_path, "a.sh", two_json=two.replace("2}", "8}")) == []
    assert lint(tmp_path, ".") == []


def test_a_file_that_two_launches_share_is_held_against_both(tmp_path: Path) -> None:
    text = f"{SHEBANG}{TRAIN} --deepspeed ds.json --per_device_train_batch_size 4\n"
    text += f"{TRAIN} --deepspeed ds.json --per_device_train_batch_size 8\n"
    lint(tmp_path, "a.sh", a_sh=text, ds_json='{"train_micro_batch_size_per_gpu": 4}')
    printed = planc("lint", "a.sh", cwd=tmp_path).stdout
    assert "Found 1 error" in printed
    assert "a.sh:3:" in printed
    assert "a.sh:2:" not in printed


def test_launches_that_may_not_run_say_nothing_beside_those_that_do(tmp_path: Path) -> None:
    text = (
        f"{SHEBANG}{TRAIN} --deepspeed one.json --per_device_train_batch_size 4\n"
        f"for b in 1 2; do {TRAIN} --deepspeed two.json --per_device_train_batch_size 8; done\n"
    )
    one, two = '{"train_micro_batch_size_per_gpu": 4}', '{"train_micro_batch_size_per_gpu": 2, "gradient_cliping": 1}'
    (found,) = lint(tmp_path, "a.sh", a_sh=text, one_json=one, two_json=two)
    assert "error[PLN062]" in found, "of a file that nobody else names"


def test_variables_count_for_the_launches_behind_them() -> None:
    text = f"{SHEBANG}{TRAIN} --per_device_train_batch_size 4\nexport NCCL_DEBUG=INFO\nexport A=1\n"
    assert "A = " not in plan_text("a.sh", text)
    assert 'A = "1"' in plan_text("a.sh", f"{SHEBANG}export A=2\nexport A=1\n{TRAIN}\nexport A=3\n")


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("torchrun t.py", True),
        ("f() { torchrun t.py; }\nf", True),
        ("f() { torchrun t.py; }\nf 1\nf 2", False),
        ("f() { torchrun t.py; }\nif a; then f; fi", False),
        ("f() { torchrun t.py; }", False),
        ("for n in 1; do bash -c 'torchrun t.py'; done", False),
        ("srun bash -c 'torchrun t.py'", True),
        ("srun bash -c 'if a; then torchrun t.py; fi'", False),
    ],
)
def test_which_launches_certainly_run(text: str, sure: bool) -> None:
    read = script(text)
    (launch,) = launches(read)
    assert is_certain(read, launch) == sure


CONFIG = '{\n  "train_micro_batch_size_per_gpu": 4,\n  "gradient_clipping": $CLIP\n}\n'


def test_a_configuration_that_the_script_writes_is_a_file_of_its_job() -> None:
    text = f"{SHEBANG}cat > ds.json <<EOF\n{CONFIG}EOF\n{TRAIN} --deepspeed ./ds.json --per_device_train_batch_size 8\n"
    (found,) = found_in("a.sh", text)
    assert (found.code, found.primary.span.line) == ("PLN071", 4)
    assert [label.span.line for label in found.related] == [8]
    assert found_in("a.sh", text.replace("_size 8", "_size 4")) == ()
    assert (
        found_in("a.sh", text.replace("cat > ds", "if a; then\ncat > ds").replace("EOF\n" + TRAIN, f"EOF\nfi\n{TRAIN}"))
        == ()
    )
    doubled = text.replace(TRAIN, f"cat > ds.json <<EOF\n{CONFIG}EOF\n{TRAIN}")
    assert found_in("a.sh", doubled) == (), "the second may be another"


@pytest.mark.parametrize("path", ["$OUT/ds.json", "$(mktemp)", "${OUT}/ds-$SLURM_JOB_ID.json"])
def test_a_configuration_is_known_by_a_path_that_only_the_run_knows(path: str) -> None:
    text = f"{SHEBANG}C={path}\ncat <<EOF > $C\n{CONFIG}EOF\n{TRAIN} --deepspeed $C --per_device_train_batch_size 8\n"
    assert [(each.code, each.primary.span.line) for each in found_in("a.sh", text)] == [("PLN071", 5)]
    assert found_in("a.sh", text.replace("> $C", "> $D")) == (), "of another file"


def test_a_configuration_of_accelerate_in_a_script() -> None:
    text = (
        f"{SHEBANG}cat > acc.yaml <<'EOF'\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n"
        "mixed_precision: bf17\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\nEOF\n"
        "accelerate launch --config_file acc.yaml t.py\n"
    )
    assert [(each.code, each.primary.span.line) for each in found_in("a.sh", text)] == [("PLN063", 5)]
    assert found_in("a.sh", text.replace("bf17", "bf16")) == ()
    assert found_in("a.sh", text.replace("bf17", "$PRECISION").replace("'EOF'", "EOF")) == ()
    unnamed = text.replace("--config_file acc.yaml ", "")
    assert [each.code for each in found_in("a.sh", unnamed)] == ["PLN063"], "it is known by what it holds"


def test_hosts_in_a_script_are_read_as_a_hostfile() -> None:
    text = f"{SHEBANG}cat > hosts <<EOF\none slots=8\ntwo slot=8\nEOF\ndeepspeed --hostfile hosts t.py\n"
    assert [(each.code, each.primary.span.line) for each in found_in("a.sh", text)] == [("PLN060", 4)]
    assert found_in("a.sh", text.replace("slot=", "slots=")) == ()
    assert found_in("a.sh", text.replace("two slot=", "$TWO slot=")) == ()
    fewer = text.replace("slot=", "slots=").replace("--hostfile", "--num_nodes 3 --hostfile")
    assert len(found_in("a.sh", fewer)) == 1, "there are but two"


def test_a_configuration_of_torchtitan_in_a_script() -> None:
    text = (
        f"{SHEBANG}cat > t.toml <<EOF\n[training]\nlocal_batch_siz = 8\nEOF\n"
        "torchrun --standalone --nproc_per_node=8 -m torchtitan.train --job.config_file t.toml\n"
    )
    assert [(each.code, each.primary.span.line) for each in found_in("a.sh", text)] == [("PLN062", 4)]


def test_texts_that_are_no_configurations_are_left_alone() -> None:
    text = (
        f'{SHEBANG}cat <<EOF\nnote: bf16 on $N cards\nother: [1, 2\nEOF\ncat > x.json <<EOF\n{{"a": 1}}\nEOF\n{TRAIN}\n'
    )
    assert found_in("a.sh", text) == ()
