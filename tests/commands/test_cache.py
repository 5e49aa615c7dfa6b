"""What `lint` keeps of a file is what it would find: whatever changes, and whoever writes into its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.commands import cache
from planc.commands.files import Files
from planc.commands.finding import analyse_all
from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.source import Source
from tests.commands.cli import CLEAN as BASE
from tests.commands.cli import planc

CLEAN = BASE.replace("[torchrun, deepspeed]", "[torchrun]")  # without the advice on what deepspeed leaves open
BROKEN = CLEAN.replace("model = small", "model = smal")
USING = 'use "card.plan"\n' + CLEAN.split("\n", 1)[1]
CARD = CLEAN.split("\n", 1)[0] + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("a.plan").write_text(USING)
    Path("card.plan").write_text(CARD)
    return tmp_path


def lint(*settings: str, use_cache: bool = True, name: str = "a.plan") -> tuple[Diagnostic, ...]:
    files = Files()
    source = files.read(name)
    assert isinstance(source, Source)
    return in_order(analyse_all((source,), files, settings, {source: None}, use_cache))


def said(found: tuple[Diagnostic, ...]) -> list[object]:
    """Everything that a diagnostic says, with places in place of sources."""

    def plain(value: object) -> object:
        if isinstance(value, Source):
            return value.name, value.text
        return tuple(map(plain, value)) if isinstance(value, tuple) else value

    return [plain(diagnostic) for diagnostic in found]


def entries(folder: Path) -> list[Path]:
    return sorted((folder / "kept" / "planc").glob("*"))


def test_what_is_kept_is_what_was_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.plan").write_text(USING.replace("micro = 1", "micro = 7  micro = 3").replace("heads = 8", "heads = 7"))
    expected = said(lint(use_cache=False))
    assert len(expected) == 2 and entries(folder) == []
    assert said(lint()) == expected
    assert len(entries(folder)) == 1

    def analyse(*_: object) -> None:
        raise AssertionError("a kept file was analysed again")

    monkeypatch.setattr("planc.compiler.analyse", analyse)
    assert said(lint()) == expected


def test_a_changed_file_is_found_anew(folder: Path) -> None:
    assert lint() == ()
    Path("a.plan").write_text(BROKEN)
    assert [found.code for found in lint()] == ["PLN010"]


def test_a_changed_used_file_is_found_anew(folder: Path) -> None:
    assert lint() == ()
    Path("card.plan").write_text(CARD.replace("bf16 = true", "bf16 = false"))
    assert [found.code for found in lint()] == ["PLN401"]
    Path("card.plan").unlink()
    assert [found.code for found in lint()] == ["PLN022"]
    Path("card.plan").write_text(CARD)
    assert lint() == ()


def test_a_file_that_a_used_file_uses_counts_too(folder: Path) -> None:
    Path("card.plan").write_text('use "maker.plan"\ngpu card from made { link = 450 GB/s }\n')
    Path("maker.plan").write_text("gpu made { memory = 80 GiB  bf16 = true }\n")
    assert lint() == ()
    Path("maker.plan").write_text("gpu made { memory = 80 GiB  bf16 = false }\n")
    assert [found.code for found in lint()] == ["PLN401"]


def test_settings_and_names_are_part_of_the_key(folder: Path) -> None:
    assert lint() == ()
    assert {found.code for found in lint("parallel.tensor=3")} >= {"PLN101"}
    assert lint() == ()
    Path("b.plan").write_text(BROKEN)
    assert [found.primary.span.source.name for found in lint(name="b.plan")] == ["b.plan"]


def test_another_planc_finds_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lint() == ()
    before = entries(folder)
    monkeypatch.setattr(cache, "_fingerprint", lambda: "another")
    assert lint() == ()
    assert len(entries(folder)) == len(before) + 1


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"used": [], "found": [[1]]}', b"\xff\xfe", b"null", b"[" * 100_000]
)
def test_a_damaged_entry_is_not_believed(folder: Path, damage: bytes) -> None:
    Path("a.plan").write_text(BROKEN)
    expected = said(lint(use_cache=False))
    lint()
    entries(folder)[0].write_bytes(damage)
    assert said(lint()) == expected


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_a_folder_that_others_may_enter_is_not_used(folder: Path, mode: int) -> None:
    (folder / "kept" / "planc").mkdir(parents=True)
    (folder / "kept" / "planc").chmod(mode)
    assert lint() == ()
    assert entries(folder) == []


def test_a_linked_folder_is_not_used(folder: Path) -> None:
    (folder / "elsewhere").mkdir(mode=0o700)
    (folder / "kept").mkdir()
    (folder / "kept" / "planc").symlink_to(folder / "elsewhere")
    assert lint() == ()
    assert list((folder / "elsewhere").iterdir()) == []


def test_old_entries_are_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_ENTRIES", 4)
    for number in range(5):
        Path("a.plan").write_text(f"{USING}# {number}\n")
        lint()
    assert len(entries(folder)) == 3


def test_many_files_say_the_same_from_the_command_line(folder: Path) -> None:
    for number in range(80):
        Path(f"p{number:02}.plan").write_text((CLEAN if number % 8 else BROKEN).replace("plan run", f"plan r{number}"))
    kept = {"XDG_CACHE_HOME": str(folder / "other")}
    outcomes = [
        planc("lint", *arguments, cwd=Path.cwd(), **kept) for arguments in ([], [], ["--no-cache"], ["--no-cache", "."])
    ]
    assert {outcome.stdout for outcome in outcomes} == {outcomes[0].stdout}
    summary = "Found 10 errors in 82 files.\n10 faults can be mended with `--unsafe-fixes`.\n"
    assert outcomes[0].stdout.endswith(summary)


def test_what_follows_from_planc_alone_is_made_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make() -> list[int]:
        made.append(1)
        return [1, 2]

    assert cache.remembered("x", make) == cache.remembered("x", make) == [1, 2]
    assert len(made) == 1
    entries(folder)[0].write_text("{")
    assert cache.remembered("x", make) == [1, 2] and len(made) == 2
    monkeypatch.setattr(cache, "_fingerprint", lambda: "another planc")
    assert cache.remembered("x", make) == [1, 2] and len(made) == 3
    monkeypatch.setenv("XDG_CACHE_HOME", "none")
    assert cache.remembered("x", make) == [1, 2] and len(made) == 4
