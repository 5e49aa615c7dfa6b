"""What checkpoints say of themselves, and that nothing in them is run, trusted or able to stop planc."""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.evidence.checkpoints import archive, safetensors
from planc.evidence.checkpoints import pickled as pickles
from planc.evidence.checkpoints.finding import found_in, newest
from planc.evidence.checkpoints.found import AXES, Found, Unreadable, as_data
from tests.evidence import folders
from tests.evidence.folders import UNOPENED, metadata, opener, pickled, saved, states, tensor

WEIGHTS = {"a.weight": ("BF16", (4, 8), 64), "b.weight": ("F32", (8,), 32)}
SHAPES = {"a.weight": (4, 8), "b.weight": (8,)}
COUNT = 40


def found(files: dict[str, bytes]) -> tuple[Found, ...]:
    """The checkpoints in a folder of these files."""
    return found_in({name: len(content) for name, content in files.items()}, opener(files))


def only(files: dict[str, bytes]) -> Found:
    (one,) = found(files)
    assert set(one.layout) <= set(AXES)
    json.dumps(as_data(one))
    return one


def zero(sharing: int = 2, ranks: int = 1, **more: Any) -> dict[str, bytes]:
    """A folder of DeepSpeed, ZeRO stage 1."""
    names = [f"mp_rank_{rank:02d}_model_states.pt" for rank in range(ranks)]
    files = dict.fromkeys(names, states(SHAPES, sharing=sharing, ranks=ranks, **more))
    for rank in range(ranks):
        for data in range(sharing):
            files[f"bf16_zero_pp_rank_{data}_mp_rank_{rank:02d}_optim_states.pt"] = saved({})
    return {f"global_step5/{name}": content for name, content in files.items()}


def test_one_file_of_safetensors() -> None:
    one = only({"checkpoint-70/model.safetensors": folders.safetensors(WEIGHTS), "checkpoint-70/optimizer.pt": b""})
    assert one == Found("checkpoint-70", "safetensors", 70, COUNT, {})


def test_files_of_safetensors_with_an_index() -> None:
    index = json.dumps({"metadata": {}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors"}})
    files = {"model.safetensors.index.json": index.encode()}
    for number, (name, entry) in enumerate(WEIGHTS.items(), 1):
        files[f"model-{number:05d}-of-00002.safetensors"] = folders.safetensors({name: entry})
    assert only(files) == Found("", "safetensors", None, COUNT, {})
    del files["model-00001-of-00002.safetensors"]
    one = only(files)
    assert one.faults == ("`model-00001-of-00002.safetensors` is missing",)
    assert one.parameters is None
    del files["model.safetensors.index.json"]
    assert only(files).faults == ("`model-00001-of-00002.safetensors` is missing",)


def test_an_index_that_cannot_be_read_is_said() -> None:
    files = {"model.safetensors": folders.safetensors(WEIGHTS), "model.safetensors.index.json": b"[" * 100_000}
    assert only(files).faults == ("`model.safetensors.index.json`: it is not JSON",)
    files["model.safetensors.index.json"] = UNOPENED
    one = only(files)
    assert (one.faults, one.notes) == ((), ("`model.safetensors.index.json` is not read: it cannot be opened",))


def test_a_file_that_lacks_what_the_index_has_in_it() -> None:
    index = {"weight_map": {"a.weight": "model-00001-of-00001.safetensors", "c": "model-00001-of-00001.safetensors"}}
    files = {"model-00001-of-00001.safetensors": WHOLE, "model.safetensors.index.json": json.dumps(index).encode()}
    assert only(files).faults == ("`model-00001-of-00001.safetensors`: the index has tensor `c` in it",)


def test_an_adapter_is_told_from_a_model() -> None:
    assert only({"adapter_model.safetensors": folders.safetensors(WEIGHTS)}).adapter


def test_buffers_and_tables_are_no_parameters() -> None:
    more = {
        "rotary_emb.inv_freq": ("F32", (8,), 32), "positions": ("I64", (2,), 16),
        "h.0.attn.bias": ("F32", (1, 1, 2, 2), 16), "h.0.attn.masked_bias": ("F32", (), 4),
    }  # fmt: skip
    assert only({"model.safetensors": folders.safetensors(WEIGHTS | more)}).parameters == COUNT


def test_packed_weights_are_not_counted_and_it_is_said() -> None:
    one = only({"model.safetensors": folders.safetensors({"a.weight": ("U8", (16,), 16)})})
    assert one.parameters is None
    assert one.notes == ("its weights are packed, in U8, so that their numbers are not counted",)
    one = only({"model.safetensors": folders.safetensors({"a.weight": ("ZZ", (16,), 16)})})
    told = "its weights are of a type that planc does not know, ZZ, so that their numbers are not counted"
    assert (one.parameters, one.notes) == (None, (told,))


WHOLE = folders.safetensors(WEIGHTS)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (WHOLE[:-1], f"it has {len(WHOLE) - 1} bytes, and by its header {len(WHOLE)}"),
        (WHOLE + b"\0", f"it has {len(WHOLE) + 1} bytes, and by its header {len(WHOLE)}"),
        (WHOLE[:20], "it is no file of safetensors, or is cut short"),
        (b"\xff" * 16, "it is no file of safetensors, or is cut short"),
        (b"", "it is no file of safetensors, or is cut short"),
        ((4).to_bytes(8, "little") + b"[[]]", "its header is no object"),
        ((4).to_bytes(8, "little") + b"\xff\xff\xff\xff", "its header is not JSON"),
        ((17).to_bytes(8, "little") + b'{"a": {}, "a":{}}', "its JSON has a key twice"),
        (folders.safetensors(WEIGHTS, shape=[10**30]), "its JSON has a number that no size reaches"),
        ((10).to_bytes(8, "little") + b'{"a": NaN}', "its header is not JSON"),
        (folders.safetensors(WEIGHTS, shape=[5, 8]), "its header has a tensor of another size than its shape"),
        (folders.safetensors(WEIGHTS, shape=[-4, -8]), "its header has an entry that is no tensor"),
        (folders.safetensors(WEIGHTS, shape="4"), "its header has an entry that is no tensor"),
        (folders.safetensors(WEIGHTS, data_offsets=[0]), "its header has an entry that is no tensor"),
        (folders.safetensors(WEIGHTS, data_offsets=[64, 0]), "its header has a tensor of another size than its shape"),
        (
            folders.safetensors({"a": ("F8", (1,), 4), "b": ("F8", (1,), 4)}, data_offsets=[0, 4]),
            "its header has a gap, or an overlap, between tensors",
        ),
    ],
)  # fmt: skip
def test_a_faulty_file_of_safetensors_is_a_fault(content: bytes, fault: str) -> None:
    assert only({"model.safetensors": content}).faults == (f"`model.safetensors`: {fault}",)


@given(st.binary(max_size=64), st.integers(0, len(WHOLE)))
def test_any_bytes_are_safetensors_or_a_fault(change: bytes, place: int) -> None:
    for content in (change, WHOLE[:place] + change + WHOLE[place:], WHOLE[:place] + change):
        try:
            safetensors.read(io.BytesIO(content), len(content))
        except Unreadable as reason:
            assert str(reason)


def test_torch_distributed_checkpoint() -> None:
    shapes = {"model.a": (4, 8), "model.b": (8,), "optim.state.a.exp_avg": (4, 8), "step": ()}
    files = {"step-3/.metadata": metadata(shapes), "step-3/__0_0.distcp": b"1", "step-3/__3_1.distcp": b"1"}
    assert only(files) == Found("step-3", "dcp", 3, COUNT, {"writers": 4})


def test_torch_distributed_checkpoint_of_flat_names() -> None:
    # A Llama of Hugging Face saved as it is: its head lies beside `model`.
    shapes = {"model.a": (4, 8), "lm_head.weight": (8,), "optimizer.state.a.exp_avg": (4, 8), "lr_scheduler.x": (2,)}
    assert only({".metadata": metadata(shapes), "__0_0.distcp": b"1"}).parameters == COUNT


def test_an_optimizer_that_is_saved_alone_is_no_checkpoint() -> None:
    files = {"optimizer_0/.metadata": metadata({"optimizer.state.a": (4,)}), "optimizer_0/__0_0.distcp": b"1"}
    assert found(files) == ()


def test_a_metadata_that_cannot_be_read_is_said() -> None:
    one = only({".metadata": UNOPENED, "__0_0.distcp": b"1"})
    assert (one.faults, one.notes) == ((), ("`.metadata` is not read: it cannot be opened",))


METADATA = metadata({"model.a": (4, 8), "model.b": (8,)}, sizes={"__0_0.distcp": 3, "__1_0.distcp": 2})
PARTS = {".metadata": METADATA, "__0_0.distcp": b"123", "__1_0.distcp": b"12"}


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({}, []),
        ({"__0_0.distcp": None}, ["`__0_0.distcp` is missing"]),
        ({"__0_0.distcp": b"12"}, ["`__0_0.distcp`: it has 2 bytes of 3"]),
        ({"__1_0.distcp": b""}, ["`__1_0.distcp`: it is empty"]),
        ({"__0_0.distcp": None, "__1_0.distcp": None}, ["`__0_0.distcp` is missing", "`__1_0.distcp` is missing"]),
        ({".metadata": None}, ["`.metadata` is missing"]),
        ({".metadata": b""}, ["`.metadata`: it is cut short"]),
        ({".metadata": METADATA[: len(METADATA) // 3]}, ["`.metadata`: it is cut short"]),
        ({".metadata": METADATA[:-4]}, ["`.metadata`: it is cut short"]),
        ({".metadata": b"nothing."}, ["`.metadata`: it is no pickle: "]),
        ({".metadata": pickle.dumps([1])}, ["`.metadata`: its `.metadata` does not list tensors"]),
        ({".metadata": metadata({"model.a": (4,)}), "__1_0.distcp": b""}, ["`__1_0.distcp`: it is empty"]),
    ],
)  # fmt: skip
def test_what_a_torch_distributed_checkpoint_lacks(change: dict[str, bytes | None], faults: list[str]) -> None:
    one = only({name: content for name, content in (PARTS | change).items() if content is not None})
    assert len(one.faults) == len(faults)
    for found, wanted in zip(one.faults, faults, strict=True):
        assert found.startswith(wanted)


OLDER = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03."


@pytest.mark.parametrize("name", ["mp_rank_00_model_states.pt", "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"])
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "it is empty"),
        (b"\xff" * 99, "it is no archive of `torch.save`, or is cut short"),
        (states(SHAPES)[:-30], "it is no archive of `torch.save`, or is cut short"),
        (OLDER, None),
        (UNOPENED, None),
    ],
)
def test_an_archive_of_deepspeed_that_is_broken(name: str, content: bytes, fault: str | None) -> None:
    one = only(zero() | {f"global_step5/{name}": content})
    assert one.faults == (() if fault is None else (f"`{name}`: {fault}",))
    if "model" in name:  # nothing else states them
        assert "stage" not in one.layout
        assert one.parameters is None
        assert len(one.notes) == int(fault is None)


def test_many_broken_archives_are_counted() -> None:
    files = {name: content if "model" in name else b"" for name, content in zero(sharing=9).items()}
    assert len(only(files).faults) == 4
    assert only(files).faults[-1] == "and 6 more are broken"


def test_an_archive_of_something_else_states_no_stage() -> None:
    one = only(zero() | {"global_step5/mp_rank_00_model_states.pt": saved([1])})
    assert one.faults == ("`mp_rank_00_model_states.pt`: it holds no states of DeepSpeed",)
    assert "stage" not in one.layout


def test_a_rank_of_megatron_that_is_broken() -> None:
    one = only({"iter_0000003/mp_rank_00/model_optim_rng.pt": saved({})[:-1]})
    (fault,) = one.faults
    assert fault.startswith("`mp_rank_00/model_optim_rng.pt`: ")


def test_a_metadata_of_another_program_is_none() -> None:
    assert found({".metadata": b"something", "README.md": b""}) == ()


def test_deepspeed() -> None:
    one = only(zero() | {"latest": b"global_step5"})
    assert one == Found("global_step5", "deepspeed", 5, COUNT, {"model_parallel": 1, "sharing": 2, "stage": 1})


def test_deepspeed_states_tensor_ranks_and_stages() -> None:
    degrees = {"checkpoint_parallel_dimensions": {"tp_degree": 2, "pp_degree": 2}}
    one = only(zero(ranks=4, **degrees))
    assert one.layout == {"model_parallel": 4, "sharing": 2, "tensor": 2, "pipeline": 2, "stage": 1}
    assert one.parameters is None
    assert "its own shards" in one.notes[0]


def test_deepspeed_without_zero_counts_each_tensor_once() -> None:
    module = OrderedDict(a=tensor((4, 8)), tied=tensor((4, 8)), b=tensor((8,), offset=32), table=tensor((99,), "1"))
    content = states(None, module=module, buffer_names=["table"])
    one = only({"global_step5/mp_rank_00_model_states.pt": content})
    assert one.parameters == COUNT
    assert one.layout["stage"] == 0


def test_deepspeed_of_which_a_file_is_missing() -> None:
    files = zero(sharing=3)
    del files["global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"]
    assert only(files).faults == ("`bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt` is missing",)
    files = zero(sharing=3)
    del files["global_step5/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt"]
    assert only(files).faults == ("it was written by 3 sharing ranks, and has files of 2",)
    files = zero(sharing=9)
    files = {name: content for name, content in files.items() if "rank_8" in name or "model" in name}
    assert only(files).faults[-1] == "and 5 more are"


def test_groups_of_ranks_that_share_have_files_of_one_group() -> None:
    config = {"zero_optimization": {"stage": 3, "mics_shard_size": 2}}
    files = {name: content for name, content in zero(sharing=2).items() if "optim" in name}
    files["global_step5/mp_rank_00_model_states.pt"] = states(SHAPES, sharing=8, ds_config=config)
    one = only(files)
    assert (one.faults, one.layout["sharing"]) == ((), 8)


def test_deepspeed_with_experts_in_files_of_their_own_is_not_counted() -> None:
    one = only(zero() | {"global_step5/layer_0_expert_1_mp_rank_00_model_states.pt": saved({})})
    assert one.parameters is None
    assert "experts" in one.notes[0]


def test_a_universal_checkpoint() -> None:
    files = {f"u/{name.partition('/')[2]}": content for name, content in zero().items() if "model" in name}
    one = only(files | {"u/zero/a.weight/fp32.pt": b""})
    assert (one.format, one.parameters, one.faults) == ("deepspeed-universal", COUNT, ())
    files = {name.partition("/")[2]: content for name, content in files.items()}
    assert only(files | {"zero/a.weight/fp32.pt": b""}).format == "deepspeed-universal"


def test_a_name_with_a_large_rank_costs_nothing() -> None:
    name = "zero_pp_rank_999999999_mp_rank_99_optim_states.pt"
    assert only(zero() | {f"global_step5/{name}": saved({})}).layout["sharing"] == 2


MEGATRON = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "context_parallel_size": 1}


def test_megatron() -> None:
    folders_of_ranks = [f"iter_0000100/mp_rank_{tensor:02d}_{stage:03d}" for tensor in (0, 1) for stage in (0, 1)]
    content = saved({"args": argparse.Namespace(**MEGATRON, world_size=8), "iteration": 100})
    files = {f"{folder}/model_optim_rng.pt": content for folder in folders_of_ranks}
    one = only(files)
    assert (one.path, one.format, one.step) == ("iter_0000100", "megatron", 100)
    assert one.layout == {"tensor": 2, "pipeline": 2, "context": 1, "world": 8}
    del files[f"{folders_of_ranks[3]}/model_optim_rng.pt"]
    assert only(files).faults == ("`mp_rank_01_001` is missing",)
    files = dict.fromkeys(files, saved({}))
    assert only(files).layout == {"tensor": 2, "pipeline_or_expert": 2}


def test_the_names_of_megatron_alone() -> None:
    names = [f"iter_0000007/mp_rank_{rank:02d}_{stage:03d}_{expert:03d}" for rank in (0, 1) for stage in (0, 1, 2)
             for expert in (0, 1)]  # fmt: skip
    one = only({f"{name}/model_optim_rng.pt": saved({}) for name in names})
    assert (one.step, one.layout) == (7, {"tensor": 2, "pipeline": 3, "expert": 2})
    assert only({"iter_0000007/mp_rank_00/model_optim_rng.pt": saved({})}).layout == {"tensor": 1}


def test_the_distributed_format_of_megatron() -> None:
    common = saved({"args": argparse.Namespace(**MEGATRON), "iteration": 9})
    files = {".metadata": metadata(SHAPES), "common.pt": common, "__0_0.distcp": b"1"}
    one = only({f"iter_0000009/{name}": content for name, content in files.items()})
    assert one.layout == {"writers": 1, "tensor": 2, "pipeline": 2, "context": 1}
    assert (one.step, one.parameters) == (9, COUNT)


def test_what_is_gone_on_from() -> None:
    second = {name.replace("step5", "step9"): content for name, content in zero(step=9).items()}
    files = zero() | second

    def chosen(**more: bytes) -> tuple[Found | None, str]:
        every = files | more
        return newest(found(every), dict.fromkeys(every, 0), opener(every))

    last, fault = chosen()
    assert last is not None and (last.step, fault) == (9, "")
    named, fault = chosen(latest=b"global_step5\n")
    assert named is not None and (named.step, fault) == (5, "")
    assert chosen(latest=b"gone") == (None, "`latest` names `gone`, and no checkpoint of that name is there")
    assert chosen(latest=UNOPENED) == (None, "`latest` it cannot be opened")


def test_the_tracker_of_megatron_names_a_step() -> None:
    files = {f"iter_000000{step}/mp_rank_00/model_optim_rng.pt": saved({}) for step in (3, 4)}
    files["latest_checkpointed_iteration.txt"] = b"3"
    chosen, _ = newest(found(files), dict.fromkeys(files, 0), opener(files))
    assert chosen is not None and chosen.step == 3


def test_no_checkpoint() -> None:
    assert found({"README.md": b"", "notes/metrics.csv": b"", "model.bin": b""}) == ()
    assert newest((), {}, opener({})) == (None, "")


class _Runs:
    """A value whose pickle makes a folder when it is read by `pickle`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


def test_nothing_that_a_pickle_names_is_called(tmp_path: Path) -> None:
    path = tmp_path / "made"
    content = pickle.dumps({"state_dict_metadata": _Runs(path)})
    value = pickles.fields(pickles.read(content))["state_dict_metadata"]
    assert value.name == "posix.mkdir"
    assert only({".metadata": content, "__0_0.distcp": b"1"}).parameters is None
    only({"mp_rank_00_model_states.pt": saved({"module": _Runs(path)})})
    assert not path.exists()
    pickle.loads(content)
    assert path.exists(), "the pickle would have done it"


METADATA = metadata({"model.a": (4, 8), "optim.a": (4, 8)})


@pytest.mark.filterwarnings("ignore:invalid escape sequence")  # of texts in forms that are refused then
@given(st.binary(max_size=24), st.integers(0, len(METADATA)))
def test_any_bytes_are_a_pickle_or_a_fault(change: bytes, place: int) -> None:
    for content in (change, METADATA[:place] + change + METADATA[place:], METADATA[:place] + change):
        found({".metadata": content, "__0_0.distcp": b"1"})
        try:
            pickles.read(content)
        except Unreadable as reason:
            assert str(reason)


ARCHIVE = states(SHAPES)


@given(st.binary(max_size=24), st.integers(0, len(ARCHIVE)))
def test_any_bytes_are_an_archive_or_a_fault(change: bytes, place: int) -> None:
    for content in (change, ARCHIVE[:place] + change + ARCHIVE[place + len(change) :], ARCHIVE[:place]):
        try:
            archive.read(io.BytesIO(content))
        except Unreadable as reason:
            assert str(reason)


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02" + b"]" + b"2" * 9 + b".",  # DUP
        b"\x80\x02a.",  # APPEND to nothing
        b"\x80\x02)(a.",  # APPEND to a mark
        b"\x80\x02}(K\x01u.",  # a key without a value
        b"\x80\x02(\x85.",  # a tuple of a mark
        b"\x80\x02h\x07.",  # a memory of nothing
        b"\x80\x02" + b"(" * 10_000 + b".",
        b"\x80\x02K\x01",
    ],
)
def test_a_pickle_that_no_trainer_writes(content: bytes) -> None:
    try:
        value = pickles.read(content)
    except Unreadable as reason:
        assert str(reason)
    else:
        assert pickles.fields(value) == {}


def test_a_pickle_of_too_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "_MOST_STEPS", 1000)
    with pytest.raises(Unreadable, match="more than planc reads"):
        pickles.read(b"\x80\x04" + b"K\x01" * 1001 + b".")


@pytest.mark.parametrize("body", [b"]", b")\x85", b"N\x94", b"}"])
def test_a_pickle_that_makes_too_much(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(pickles, "_MOST_THINGS", 1000)
    pickles.read(b"\x80\x04" + body * 1000 + b".")
    with pytest.raises(Unreadable, match="more than planc reads"):
        pickles.read(b"\x80\x04" + body * 1001 + b".")


def test_a_deep_pickle_and_one_that_holds_itself_are_read() -> None:
    deep = pickles.read(b"\x80\x02)" + b"\x85" * 1_000_000 + b".")
    assert pickles.whole_numbers(deep) is None
    endless: dict[str, Any] = {}
    endless["state_dict_metadata"] = endless
    assert found({".metadata": pickle.dumps(endless), "__0_0.distcp": b"1"}) == ()


def test_an_archive_cannot_have_more_read_than_it_may() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a/data.pkl", bytes(1 << 20))
    with pytest.raises(Unreadable, match="packed, or larger"):
        archive.read(io.BytesIO(file.getvalue()))

    class Endless(io.BytesIO):
        """A file whose list of contents says that it is as long as the file, which is very long."""

        def read(self, count: int | None = -1) -> bytes:
            assert count is not None and 0 <= count < 1 << 26
            return super().read(count)

    listed = bytearray(saved({}))
    end = listed.rindex(b"PK\5\6")
    listed[end + 12 : end + 16] = (1 << 25).to_bytes(4, "little")
    with pytest.raises(Unreadable, match=r"no archive|too long"):
        archive.read(Endless(bytes(1 << 25) + bytes(listed)))


def test_a_stub_pickles_as_what_it_stands_for() -> None:
    assert pickles.whole_numbers(pickles.read(pickled(folders.SIZE(((4, 8),))))) == (4, 8)
