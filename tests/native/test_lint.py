"""`planc lint` over files of other tools: which are read and grouped, what is shown and mended, what options say."""

from __future__ import annotations

import json
import os
import re
import threading
import xml.etree.ElementTree as Tree
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from planc.commands import lint
from planc.commands.files import Files
from planc.commands.mending import mend_all
from planc.commands.output import CannotWork
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.native.faults import UNKNOWN_KEY, UNREADABLE
from planc.native.recognising import SCRIPTS
from planc.source import Source, Span
from tests.commands.cli import CLEAN, planc
from tests.shared import ROOT

#: A DeepSpeed configuration in which nothing is wrong, and one with a batch that does not multiply, on lines 2 to 4.
GOOD = '{\n  "train_micro_batch_size_per_gpu": 4,\n  "zero_optimization": {"stage": 2}\n}\n'
BATCH = (
    '{\n  "train_batch_size": 64,\n  "train_micro_batch_size_per_gpu": 4,\n  "gradient_accumulation_steps": 4,\n'
    '  "zero_optimization": {"stage": 2}\n}\n'
)
YAML = 'train_micro_batch_size_per_gpu: "4"   # a text\nzero_optimization:\n    stage:   2 # two\n'
HOSTFILE = "node1 slots=8\nnode2 slots=8\n"


class Ran(NamedTuple):
    """The outcome of a run: its status and its outputs."""

    status: int
    out: str
    err: str

    def codes(self) -> list[str]:
        """Codes of the diagnostics in the text, in order."""
        return re.findall(r"(?m)^(?:error|warning)\[(PLN\d+)\]", self.out)


Lint = Callable[..., Ran]


@pytest.fixture
def lint_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    """`planc lint` in a folder of its own, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "none")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> Ran:
        status = lint.run(list(arguments))
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


def put(folder: Path, **texts: str) -> None:
    """Files by their names, of which `__` is a dot and `_in_` a slash."""
    for name, text in texts.items():
        path = folder / name.replace("_in_", "/").replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_a_file_that_is_named(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, good__json=GOOD, bad__json=BATCH)
    assert lint_here("good.json") == Ran(0, "Found no faults in 1 file.\n", "")
    ran = lint_here("bad.json", "--world", "8")
    assert (ran.status, ran.codes()) == (1, ["PLN201"])
    assert " --> bad.json:2:3\n" in ran.out
    assert '"train_batch_size"' in ran.out


@pytest.mark.parametrize("name", ["x.json", "x.json.template", "x", "ds.conf"])
def test_a_file_is_recognised_by_what_it_holds(lint_here: Lint, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(GOOD, encoding="utf-8")
    assert lint_here(name).out == "Found no faults in 1 file.\n"


def test_a_kind_on_the_command_line_and_another_ending(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, x__txt='{"steps_per_prnt": 1}', y__json='{"a": 1}')
    assert lint_here("x.txt").codes() == ["PLN061"]
    assert "steps_per_print" in lint_here("x.txt", "--kind", "deepspeed").out
    ran = lint_here("y.json")
    assert (ran.status, ran.codes()) == (1, ["PLN061"])
    assert "`deepspeed`" in ran.out
    assert "--kind" in ran.out


def test_a_folder_has_its_plans_and_the_files_that_are_known(lint_here: Lint, tmp_path: Path) -> None:
    put(
        tmp_path, run__plan=CLEAN, ds__json=BATCH, package__json='{"name": "x"}', ci__yml="on: push\njobs: {}\n",
        deep_in_deep_in_ds__yaml=YAML, broken__json='{"a": ',
        broken_in_ds__json='{"zero_optimization": {"stage": 2}, "optimizer": ',
        node_modules_in_x__json="{}", pyproject__toml="[project]\nname = 'x'\n", notes__txt="x",
    )  # fmt: skip
    (tmp_path / "latin.json").write_bytes(b'{"zero_optimization": "\xe9"}')
    ran = lint_here(".", "--world", "8", "--output-format", "json")
    found = json.loads(ran.out)
    assert [each["code"] for each in found["diagnostics"]] == ["PLN060", "PLN063", "PLN201"]
    assert found["files"] == 4
    assert [each["file"] for each in found["diagnostics"]] == ["broken/ds.json", "deep/deep/ds.yaml", "ds.json"]
    assert ran.status == 1
    assert lint_here().out.splitlines()[-2:] == lint_here(".").out.splitlines()[-2:]


@pytest.mark.parametrize("ending", SCRIPTS)
def test_a_folder_has_its_scripts(lint_here: Lint, tmp_path: Path, ending: str) -> None:
    (tmp_path / f"job{ending}").write_text("#PBS -l select=1\ntorchrun --nproc_per_node=0 train.py\n")
    ran = lint_here(".", "--output-format", "concise")
    assert ran.out.startswith(f"job{ending}:2:27: error[PLN063] `--nproc_per_node` is 0\n")


def test_a_broken_file_that_was_named(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, a__json='{"a": ', b__yaml="a: [1\n", c__toml="a = \n", d__json="", e__yaml="", f__toml="")
    for name, form in (("a.json", "JSON"), ("b.yaml", "YAML"), ("c.toml", "TOML")):
        ran = lint_here(name, "--kind", "deepspeed") if form != "TOML" else lint_here(name, "--kind", "torchtitan")
        assert (ran.status, ran.codes()) == (1, ["PLN060"])
        assert f"the file is no {form}" in ran.out
    for name in ("d.json", "e.yaml", "f.toml"):
        assert lint_here(name).codes() in (["PLN060"], ["PLN061"])


def test_standard_input_needs_its_kind(tmp_path: Path) -> None:
    ran = planc("lint", "-", "--kind", "deepspeed", "--world", "8", cwd=tmp_path, stdin=BATCH.encode())
    assert (ran.returncode, "<stdin>:2:3" in ran.stdout) == (1, True)
    named = planc(
        "lint", "-", "--kind", "deepspeed", "--stdin-filename", "conf/ds.json", cwd=tmp_path, stdin=b'{"a": }'
    )
    assert "conf/ds.json:1:7" in named.stdout
    assert planc("lint", "-", cwd=tmp_path, stdin=CLEAN.encode()).returncode == 0


@pytest.mark.parametrize("kind", ["deepsped", "", "plan"])
def test_a_kind_that_there_is_not(tmp_path: Path, kind: str) -> None:
    ran = planc("lint", "x.json", "--kind", kind, cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") <= 2
    assert "--kind" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--cluster", "h10"), "--cluster `h10` is no file and no card of the catalogue"),
        (("--cluster", "h100-sxm-80g"), "did you mean `h100-sxm-80gb`?"),
        (("--cluster", "empty.plan"), "has no cluster"),
        (("--cluster", "run.plan:two"), "has no cluster `two`"), (("--cluster", "two.plan"), "has 2 of them; name one"),
        (("--model", "lama"), "is no file and no model of the catalogue"), (("--model", "none.json"), "cannot read"),
        (("--model", "run.plan:big"), "has no model `big`"), (("--model", "."), "cannot read"),
        (("--cluster", ""), "is no file and no card"), (("--model", ""), "is no file and no model"),
        (("--cluster", "latin.plan"), "not text in UTF-8"),
    ],
)  # fmt: skip
def test_what_is_said_beside_the_files_and_is_not_there(
    lint_here: Lint, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    two = "cluster a { nodes = 1 }\ncluster b { nodes = 1 }\n"
    put(tmp_path, ds__json=GOOD, run__plan=CLEAN, empty__plan="", two__plan=two)
    (tmp_path / "latin.plan").write_bytes(b"# \xe9\n")
    with pytest.raises(CannotWork) as refused:
        lint_here("ds.json", *arguments)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("arguments", [("--world", "0"), ("--world", "x"), ("--world", "-8"), ("--trainer", "x")])
def test_numbers_and_words_that_an_option_does_not_take(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = planc("lint", "ds.json", *arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert arguments[0] in ran.stderr


def test_what_is_said_beside_the_files_lets_rules_speak(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, ds__json=BATCH, run__plan=CLEAN)
    assert lint_here("ds.json").codes() == []
    assert lint_here("ds.json", "--world", "8").codes() == ["PLN201"]
    assert lint_here("ds.json", "--cluster", "run.plan").codes() == ["PLN201"]
    assert lint_here("ds.json", "--cluster", "run.plan:one", "--model", "run.plan:small").codes() == ["PLN201"]
    assert lint_here("ds.json", "--set", "cluster.nodes=1", "--set", "cluster.gpus_per_node=8").codes() == ["PLN201"]


def test_rules_that_stayed_silent_name_the_option(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, ds__json=BATCH)
    ran = lint_here("ds.json", "--show-skipped")
    lines = ran.out.splitlines()
    at = lines.index("  `ds.json`, with --world or --cluster:")
    assert lines[at + 1].startswith("    PLN101, ")
    assert ran.out.count("PLN101") == 1
    assert "PLN130 (optimizer)" in ran.out  # a field that `--set` supplies
    assert len(lines) < 60 and max(map(len, lines)) <= 120
    assert "--cluster" in lint_here("ds.json", "--show-skipped", "--world", "8").out
    assert "--world" not in lint_here("ds.json", "--show-skipped", "--world", "8").out
    assert "PLN101" not in lint_here("ds.json", "--show-skipped", "--world", "8").out
    found = json.loads(lint_here("ds.json", "--show-skipped", "--output-format", "json").out)
    assert "PLN101" in [each["code"] for each in found["skipped"]]


def test_every_output_format(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, ds__json=BATCH)
    shown = {name: lint_here("ds.json", "--world", "8", "--output-format", name) for name in lint.FORMATS}
    assert {ran.status for ran in shown.values()} == {1}
    assert shown["concise"].out.startswith("ds.json:2:3: ")
    (found,) = json.loads(shown["json"].out)["diagnostics"]
    assert (found["code"], found["line"]) == ("PLN201", 2)
    sarif = json.loads(shown["sarif"].out)["runs"][0]
    (result,) = sarif["results"]
    assert result["ruleId"] == "PLN201"
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("ds.json", 2)
    assert shown["github"].out.startswith("::error ")
    assert "file=ds.json,line=2" in shown["github"].out
    (issue,) = json.loads(shown["gitlab"].out)
    assert issue["location"]["path"] == "ds.json"
    assert Tree.fromstring(shown["junit"].out).find(".//failure") is not None


def test_fixes_keep_everything_else(lint_here: Lint, tmp_path: Path) -> None:
    text = '{\r\n\t"train_micro_batch_size_per_gpu":   "4",\r\n  "zero_optimization": { "stage": 2 }  }'
    (tmp_path / "ds.json").write_bytes(text.encode())
    put(tmp_path, ds__yaml=YAML)
    shown = lint_here("ds.json", "ds.yaml", "--diff")
    assert shown.status == 1
    assert '+\t"train_micro_batch_size_per_gpu":   4,' in shown.out
    assert (tmp_path / "ds.json").read_bytes() == text.encode()
    assert lint_here("ds.json", "ds.yaml", "--fix").out == "Mended 2 faults; found no faults in 2 files.\n"
    assert (tmp_path / "ds.json").read_bytes() == text.replace('"4"', "4").encode()
    assert (tmp_path / "ds.yaml").read_text() == YAML.replace('"4"', "4")
    assert lint_here("ds.json", "--diff").status == 0


def test_unsafe_fixes(lint_here: Lint, tmp_path: Path) -> None:
    slip = YAML.replace('"4"', "4").replace("    stage:   2 # two", "    stage:   2 # two\n    overlap_com: true")
    put(tmp_path, ds__yaml=slip)
    assert lint_here("ds.yaml", "--fix").codes() == ["PLN062"]
    assert (tmp_path / "ds.yaml").read_text() == slip
    assert lint_here("ds.yaml", "--unsafe-fixes").codes() == []
    assert (tmp_path / "ds.yaml").read_text() == slip.replace("overlap_com:", "overlap_comm:")


def test_a_value_that_other_keys_share_is_not_mended(lint_here: Lint, tmp_path: Path) -> None:
    text = 'train_micro_batch_size_per_gpu: &n "4"\ngradient_accumulation_steps: *n\nzero_optimization: {stage: 2}\n'
    put(tmp_path, ds__yaml=text)
    ran = lint_here("ds.yaml", "--fix")
    assert set(ran.codes()) == {"PLN063"}
    assert (tmp_path / "ds.yaml").read_text() == text


def test_a_fix_that_would_break_a_file_is_taken_back(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, ds__json=GOOD)
    files = Files()
    source = files.read("ds.json")
    assert isinstance(source, Source)

    def judge(sources: tuple[Source, ...]) -> tuple[Diagnostic, ...]:
        (now,) = sources
        if now.text != GOOD:
            return (UNREADABLE.at(Span(now, 0, 1), "the file is no JSON"),)
        fix = Fix("break it", (Edit(Span(now, 0, 1), "["),), safe=True)
        return (UNKNOWN_KEY.at(Span(now, 0, 1), "a key", fixes=(fix,)),)

    mended = mend_all((source,), files, judge, False)
    assert [each.text for each in mended.sources] == [GOOD]
    assert mended.applied == ()


def test_comments_of_yaml_and_a_baseline_for_json(lint_here: Lint, tmp_path: Path) -> None:
    allowed = YAML.replace("# a text", "# planc: allow wrong-value -- our own reader")
    put(tmp_path, ds__yaml=allowed, ds__json=BATCH)
    assert lint_here("ds.yaml").out == "Found no faults in 1 file.\n"
    unused = YAML.replace('"4"', "4").replace("# a text", "# planc: allow wrong-value -- our own reader")
    put(tmp_path, unused__yaml=unused)
    assert lint_here("unused.yaml").codes() == ["PLN058"]
    assert "Mended 1 fault" in lint_here("unused.yaml", "--fix").out
    assert (tmp_path / "unused.yaml").read_text() == YAML.replace('"4"   # a text', "4")
    lint_here("ds.json", "--world", "8", "--write-baseline")
    ran = lint_here("ds.json", "--world", "8", "--baseline", "planc-baseline.json")
    assert (ran.status, ran.out) == (0, "Found no faults besides 1 in the baseline in 1 file.\n")
    put(tmp_path, ds__json=BATCH.replace('"train_batch_size": 64', '"train_batch_size": 32'))
    assert lint_here("ds.json", "--world", "8", "--baseline", "planc-baseline.json").codes() == ["PLN201"]


def test_settings_hold_for_files_of_other_tools(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, ds__yaml=YAML.replace("stage:   2", "stag:   2"), old_in_ds__yaml=YAML)
    assert lint_here(".").codes() == ["PLN063", "PLN062", "PLN063"]
    assert lint_here(".", "--ignore", "wrong-value").codes() == ["PLN062"]
    assert lint_here(".", "--select", "PLN062").codes() == ["PLN062"]
    put(tmp_path, planc__toml='exclude = ["old"]\n[per-path."*.yaml"]\nignore = ["unknown-key"]\n')
    assert lint_here(".").codes() == ["PLN063"]


def test_two_files_of_one_job_are_judged_together(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, ds__json=BATCH, hostfile=HOSTFILE)
    ran = lint_here("ds.json", "hostfile")
    assert ran.codes() == ["PLN201"]
    assert "ds.json:2:3" in ran.out
    assert "= 256, not 64" in ran.out  # 16 ranks, as the hostfile says
    assert lint_here("ds.json").codes() == []
    put(tmp_path, other_in_ds__json=BATCH, other_in_hostfile=HOSTFILE)
    assert lint_here("other").codes() == ["PLN201"]


ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
    "  deepspeed_config_file: ds.json\n  zero3_init_flag: false\nnum_machines: 1\nnum_processes: 8\n"
)


def test_a_file_that_another_one_names_is_read_through_it(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, accelerate__yaml=ACCELERATE, ds__json=BATCH)
    ran = lint_here("accelerate.yaml")
    assert ran.codes() == ["PLN201"]
    assert " --> ds.json:2:3\n" in ran.out
    assert re.search(r"4 \|   deepspeed_config_file: ds\.json\n +\| +-+ read through here", ran.out)
    assert "Found 1 error in 1 file." in ran.out
    put(tmp_path, conf_in_accelerate__yaml=ACCELERATE)
    assert lint_here("conf/accelerate.yaml").codes() == ["PLN201"]  # from this folder, where the job starts
    (tmp_path / "ds.json").unlink()
    assert lint_here("accelerate.yaml").codes() == ["PLN073"]


def test_two_files_that_disagree_are_both_shown(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, accelerate__yaml=ACCELERATE, ds__json=GOOD, hostfile="node1 slots=4\n")
    ran = lint_here(".")
    assert ran.codes() == ["PLN071"]
    assert "hostfile:1:13" in ran.out
    assert "accelerate.yaml:7:1" in ran.out
    assert "`slots` and `num_processes` disagree" in ran.out


def test_files_of_one_kind_are_jobs_of_their_own(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, a__json=GOOD, b__json=GOOD.replace(": 4", ": 8"), c_in_d__json=GOOD.replace(": 4", ": 16"))
    assert lint_here(".").codes() == []
    assert lint_here("a.json", "b.json", "c/d.json").codes() == []


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_links_that_leave_the_tree(lint_here: Lint, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    put(outside, ds__json=BATCH, deep_in_ds__json=BATCH)
    (tmp_path / "link.json").symlink_to(outside / "ds.json")
    (tmp_path / "folder").symlink_to(outside / "deep")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere.json")
    ran = lint_here(".", "--world", "8")
    assert "deep" not in ran.out
    named = lint_here("link.json", "--world", "8")
    assert (named.status, named.codes()) == (1, ["PLN201"])
    lint_here("link.json", "--world", "8", "--unsafe-fixes")
    assert (tmp_path / "link.json").is_symlink()


def test_the_pages_of_what_is_found_are_there() -> None:
    from planc.native.faults import FAULTS

    for fault in FAULTS:
        assert (ROOT / "docs/rules" / f"{fault.code.lower()}-{fault.name}.md").is_file(), fault.code


SCRIPT = (
    "#!/bin/bash\ntorchrun --nnodes 4 --nproc_per_node 8 --rdzv_endpoint $HEAD:29500 train.py --output_dir out"
    " --per_device_train_batch_size 4 --gradient_accumulation_steps 2\n"
)
ARGUMENTS = "output_dir: out\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 1\nlearning_rate: 2.0e-5\n"


def test_a_script_is_not_held_against_what_it_does_not_name(lint_here: Lint, tmp_path: Path) -> None:
    launcher = "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n"
    put(tmp_path, a_in_run__sh=SCRIPT, a_in_args__yaml=ARGUMENTS, b_in_run__sh=SCRIPT, b_in_launcher__yaml=launcher)
    assert lint_here("a").codes() == []
    assert lint_here("b").codes() == []
    assert lint_here("a/run.sh", "a/args.yaml").codes() != []  # named together, they are one job


def test_files_of_rival_trainers_are_no_job(lint_here: Lint, tmp_path: Path) -> None:
    axolotl = "base_model: a\ndatasets:\n  - path: b\nmicro_batch_size: 2\nsequence_len: 4096\nlearning_rate: 1e-5\n"
    put(tmp_path, axolotl__yml=axolotl, args__yaml=ARGUMENTS, ds__json=GOOD)
    assert lint_here(".").codes() == []


BROKEN_TOML = '[job]\ndump_folder = "out"\n[model]\nflavor = "8B"\n[training\nseq_len = 4096\n'


def test_a_broken_file_is_told_of_where_it_looks_like_a_known_one(lint_here: Lint, tmp_path: Path) -> None:
    put(tmp_path, a__toml=BROKEN_TOML, b__toml="[tool\nname = 1\n", c__json='{"model_type": "llama",,}')
    ran = lint_here(".")
    assert ran.codes() == ["PLN060", "PLN060"]
    (tmp_path / "job.yaml").write_text("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n spec: {}\n", encoding="utf-8")
    assert lint_here(".").codes() == ["PLN060", "PLN060", "PLN060"]
    assert "a.toml:5:10" in ran.out
    assert "c.json" in ran.out
    assert lint_here("b.toml").codes() == ["PLN060"]  # named, it is broken whatever it is


@pytest.mark.parametrize(
    "text", [GOOD.replace('": 4', '": "4"'), YAML, "#!/bin/bash\n#SBATCH --nodes=$N\ntorchrun a.py\n"]
)
def test_standard_input_is_recognised_by_what_it_holds(tmp_path: Path, text: str) -> None:
    ran = planc("lint", "-", cwd=tmp_path, stdin=text.encode())
    assert "error[PLN063]" in ran.stdout or "error[PLN080]" in ran.stdout


def test_what_is_said_beside_standard_input(tmp_path: Path) -> None:
    assert "PLN201" in planc("lint", "-", "--world", "8", cwd=tmp_path, stdin=BATCH.encode()).stdout
    ran = planc("lint", "-", "--world", "8", cwd=tmp_path, stdin=CLEAN.encode())
    assert (ran.returncode, "does not go with plans alone" in ran.stderr) == (2, True)


def test_standard_input_that_no_kind_has_may_be_a_plan(tmp_path: Path) -> None:
    assert "PLN001" in planc("lint", "-", cwd=tmp_path, stdin=b'{"a": 1}').stdout
    named = planc("lint", "-", "--stdin-filename", "a.json", cwd=tmp_path, stdin=b'{"a": 1}').stdout
    assert "PLN061" in named and "--kind" in named


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_that_nobody_writes_into_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ds.json")
    put(tmp_path, a__json=GOOD)
    assert planc("lint", ".", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"
    ran = planc("lint", "ds.json", cwd=tmp_path)
    assert (ran.returncode, "nobody writes into this pipe" in ran.stderr) == (2, True)
    writer = threading.Thread(target=lambda: (tmp_path / "ds.json").write_text(GOOD.replace(": 4", ': "4"')))
    writer.start()
    assert "PLN063" in planc("lint", "ds.json", cwd=tmp_path).stdout
    writer.join()
