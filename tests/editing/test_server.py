"""The language server as an editor meets it: over pipes, with what the protocol asks of both."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="pygls is not installed: planc[lsp]")

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.commands.cli import CLEAN, environment, planc
from tests.editing.client import PATIENCE, SNIPPETS, Editor, applied, editor
from tests.editing.edits import edited
from tests.shared import ROOT

PARTS = CLEAN[: CLEAN.index("plan run")]
PLAN = 'use "parts.plan"\n' + CLEAN[CLEAN.index("plan run") :]
EMOJI = "\U0001f680"


def run(
    folder: Path,
    scenario: Callable[[Editor], Awaitable[None]],
    capabilities: types.ClientCapabilities = SNIPPETS,
    arguments: tuple[str, ...] = (),
) -> None:
    """Runs a scenario with an editor on a folder that is a project."""
    (folder / "planc.toml").touch()

    async def scene() -> None:
        async with editor(folder, capabilities, arguments) as made:
            await scenario(made)

    asyncio.run(scene())


def test_diagnostics_follow_the_typing(tmp_path: Path) -> None:
    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", CLEAN)
        await made.codes(uri, [])
        made.change(uri, CLEAN.replace("model = small", "model = smal"))
        (found,) = await made.codes(uri, ["PLN010"])
        assert found.code_description is not None
        assert found.code_description.href.endswith("/docs/rules/pln010-unknown-name.md")
        line = CLEAN[: CLEAN.index("model = small")].count("\n")
        assert (found.range.start.line, found.range.start.character) == (line, 19)
        assert found.message == "no model is called `smal`\nnot known here\nhelp: did you mean `small`?"
        assert found.source == "planc"
        made.change(uri, CLEAN)
        await made.codes(uri, [])

    run(tmp_path, scenario, arguments=("--stdio",))


def test_diagnostics_say_all_that_lint_says(tmp_path: Path) -> None:
    async def scenario(made: Editor) -> None:
        text = CLEAN.replace("micro = 1 ", "micro = 1  micro = 2 ").replace("4Ki", "8k")
        uri = made.open("a.plan", text)
        (twice,) = await made.codes(uri, ["PLN013"])
        (related,) = twice.related_information
        assert related.message == "first here" and related.location.uri == uri
        assert related.location.range.start.character < twice.range.start.character
        advice = [one for one in made.published[uri].diagnostics if one.severity is types.DiagnosticSeverity.Hint]
        assert "PLN036" in [one.code for one in advice]

    run(tmp_path, scenario)


def test_a_change_in_a_used_file_is_seen_by_those_that_use_it(tmp_path: Path) -> None:
    (tmp_path / "parts.plan").write_text(PARTS)

    async def scenario(made: Editor) -> None:
        plan = made.open("a.plan", PLAN)
        await made.codes(plan, [])
        parts = made.open("parts.plan", PARTS)
        made.change(parts, PARTS.replace("model small", "model tiny"))
        await made.codes(plan, ["PLN010"])
        await made.codes(parts, [])
        made.close(parts)  # unsaved: the file counts again
        await made.codes(plan, [])
        (tmp_path / "parts.plan").write_text(PARTS.replace("heads = 8", "heads = 7"))
        event = types.FileEvent(parts, types.FileChangeType.Changed)
        made.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await made.codes(parts, ["PLN110"])  # found where the plan is judged, shown where the number stands
        (tmp_path / "parts.plan").unlink()
        made.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(plan)))
        await made.codes(plan, ["PLN022"])
        made.open("parts.plan", PARTS)  # not on disk, but open
        await made.codes(plan, [])

    run(tmp_path, scenario)


def test_faults_of_a_used_file_are_shown_there(tmp_path: Path) -> None:
    (tmp_path / "parts.plan").write_text(PARTS + "model {\n")

    async def scenario(made: Editor) -> None:
        plan = made.open("a.plan", PLAN)
        await made.codes(made.uri("parts.plan"), ["PLN001"])
        await made.codes(plan, [])
        made.close(plan)
        await made.codes(made.uri("parts.plan"), [])

    run(tmp_path, scenario)


def test_an_editor_shows_what_the_command_line_shows(tmp_path: Path) -> None:
    faulty = CLEAN.replace("model = small", "model = smal")
    allowed = CLEAN.replace("heads = 8", "heads = 7").replace("32_000 }", "32_000 } # planc: allow PLN110 -- a test")
    (tmp_path / "house.plan").write_text("policy house { forbid precision == bf16 }\n")

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", allowed)
        await made.codes(uri, [])
        made.change(uri, allowed.replace(" -- a test", ""))
        await made.codes(uri, ["PLN056"])
        made.change(uri, faulty)
        await made.codes(uri, ["PLN010"])
        (tmp_path / "planc.toml").write_text('policies = ["house.plan"]\n')
        event = types.FileEvent(made.uri("planc.toml"), types.FileChangeType.Changed)
        made.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        await made.codes(uri, ["PLN010", "PLN090"])
        house = made.open("house.plan", "policy house { warn precision == bf16 }\n")  # edited, not yet saved
        await made.codes(uri, ["PLN010", "PLN091"])
        made.close(house)
        await made.codes(uri, ["PLN010", "PLN090"])
        (tmp_path / "planc.toml").write_text('ignore = ["PLN9"]\nbaseline = "no.json"\n')
        made.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
        while not made.shown:
            await asyncio.sleep(0.05)
        assert "no.json" in made.shown[0]

    run(tmp_path, scenario)


async def labels(made: Editor, uri: str, marked: str) -> dict[str, types.CompletionItem]:
    found = await made.client.text_document_completion_async(types.CompletionParams(**made.at(uri, marked)))
    assert isinstance(found, types.CompletionList)
    return {item.label: item for item in found.items}


def test_completion_in_a_half_typed_file(tmp_path: Path) -> None:
    (tmp_path / "parts.plan").write_text(PARTS)
    text = """\
use "p"
use "parts.plan"

plan run {
  model =
  par
  batch { gl
  shard {
    stage = 3
  launch { walltime = 24 }
  emit = [deepspeed { tr }, s
"""

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        files = set(await labels(made, uri, 'use "p|"\n'))
        own = {name for name in files if name.startswith("planc/policies/")}
        assert files - own == {"planc/gpus", "planc/models", "parts.plan"} and "planc/policies/slurm" in own
        models = await labels(made, uri, "model =|")
        assert "small" in models and models["small"].detail == "model of parts.plan"
        fields = await labels(made, uri, "  par|")
        assert "model" not in fields and "parallel" in fields
        assert fields["parallel"].text_edit == types.TextEdit(
            types.Range(types.Position(5, 2), types.Position(5, 5)), "parallel { $1 }"
        )
        assert fields["parallel"].insert_text_format is types.InsertTextFormat.Snippet
        assert set(await labels(made, uri, "batch { gl|")) == {
            "global",
            "micro",
            "accumulation",
            "sequence_length",
            "ramp",
        }
        assert "size" in await labels(made, uri, "    stage = 3\n|")
        assert "min" in await labels(made, uri, "walltime = 24| }")
        assert set(await labels(made, uri, "deepspeed { tr| }")) == {"trainer", "config_flag"}
        assert "slurm" in await labels(made, uri, "}, s|")

    run(tmp_path, scenario)
    run(tmp_path, plain_scenario, types.ClientCapabilities())


async def plain_scenario(made: Editor) -> None:
    uri = made.open("a.plan", "plan p { par\n")
    item = (await labels(made, uri, "{ par|"))["parallel"]
    assert item.insert_text_format is types.InsertTextFormat.PlainText
    assert isinstance(item.text_edit, types.TextEdit) and item.text_edit.new_text == "parallel "
    made.change(uri, "plan p { model = llama")
    (use,) = (await labels(made, uri, "= llama|"))["llama-3-8b"].additional_text_edits or ()
    assert use == types.TextEdit(types.Range(types.Position(0, 0), types.Position(0, 0)), 'use "planc/models"\n')


def test_hover_shows_what_is_worked_out(tmp_path: Path) -> None:
    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", CLEAN.replace("micro = 1", "accumulation = auto  micro = 1"))

        async def shown(marked: str) -> str:
            found = await made.client.text_document_hover_async(types.HoverParams(**made.at(uri, marked)))
            assert found is not None and isinstance(found.contents, types.MarkupContent)
            return found.contents.value

        assert "`batch.accumulation` in `run`: `8` (worked out)" in await shown("au|to")
        field = await shown("micr|o")
        assert (
            "samples per replica and forward pass" in field and "`mbs`" in field and "In `run`: `1` (written)" in field
        )
        assert "`world.size`: `8 ranks`" in await shown("cluster = o|ne")
        assert "cluster `one`" in await shown("clu|ster one".replace("clu|ster one", "cluster on|e {"))
        at = made.at(uri, "|batch {")
        at["position"] = types.Position(10_000, 0)
        assert await made.client.text_document_hover_async(types.HoverParams(**at)) is None

    run(tmp_path, scenario)


def test_definition_across_files_and_in_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "parts.plan").write_text(PARTS)
    text = 'use "planc/gpus"\n' + PLAN.replace("cluster = one", "cluster = one { gpu = h100-sxm-80gb }")
    text = text.replace("sequence_length = 4Ki", "sequence_length = cluster.nodes * 4096")

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)

        async def place(marked: str) -> tuple[str, int, int]:
            found = await made.client.text_document_definition_async(types.DefinitionParams(**made.at(uri, marked)))
            assert isinstance(found, (list, tuple)) and len(found) == 1
            (location,) = found
            assert isinstance(location, types.Location)
            return location.uri, location.range.start.line, location.range.start.character

        parts = made.uri("parts.plan")
        assert await place("model = sm|all") == (parts, 2, 6)
        assert await place('use "pa|rts.plan"') == (parts, 0, 0)
        assert await place("sequence_length = clu|ster.nodes") == (uri, 2, 26)
        assert await place("sequence_length = cluster.no|des") == (parts, 1, 26)
        catalogue, line, _ = await place("h1|00-sxm")
        lines = Path(catalogue.removeprefix("file://")).read_text().splitlines()
        assert lines[line].startswith("gpu h100-sxm-80gb")
        assert (await place('"planc/g|pus"'))[0] == catalogue
        made.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(catalogue, "planc", 1, "\n".join(lines)))
        )
        params = types.RenameParams(types.TextDocumentIdentifier(catalogue), types.Position(line, 5), "x")
        assert await made.client.text_document_rename_async(params) is None
        assert made.shown == ["`h100-sxm-80gb` is of planc's own catalogue, which cannot be edited"]

    run(tmp_path, scenario)


OTHER = 'use "parts.plan"\nplan other { model = "small"  cluster = one  precision = bf16  batch { global = 8 } }\n'


def test_rename_changes_every_file_and_leaves_no_fault(tmp_path: Path) -> None:
    (tmp_path / "other.plan").write_text(OTHER)
    (tmp_path / "parts.plan").write_text(PARTS)
    (tmp_path / "stranger.plan").write_text("model small { }\nmodel big from small { }\n")
    text = PLAN.replace("plan run", f"plan run # {EMOJI}\n").replace(
        "{ model", f'{{ # {EMOJI}\n launch {{ venv = "{EMOJI}" }} model'
    )
    text = text.replace("  launch {", "").replace(' script = "train.py" }', "")

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        await made.codes(uri, ["PLN901"])
        at = made.at(uri, "model = sm|all")
        ready = await made.client.text_document_prepare_rename_async(types.PrepareRenameParams(**at))
        assert isinstance(ready, types.PrepareRenamePlaceholder) and ready.placeholder == "small"
        edit = await made.client.text_document_rename_async(types.RenameParams(**at, new_name="7B chat"))
        assert edit is not None and edit.document_changes is not None
        texts = {uri: text, made.uri("parts.plan"): PARTS, made.uri("other.plan"): OTHER}
        versions = {}
        for change in edit.document_changes:
            assert isinstance(change, types.TextDocumentEdit)
            versions[change.text_document.uri] = change.text_document.version
            edits = [one for one in change.edits if isinstance(one, types.TextEdit)]
            texts[change.text_document.uri] = applied(texts[change.text_document.uri], edits)
        assert versions == {uri: 1, made.uri("parts.plan"): None, made.uri("other.plan"): None}
        assert texts[uri] == text.replace("small", '"7B chat"')
        assert texts[made.uri("parts.plan")] == PARTS.replace("small", '"7B chat"')
        assert texts[made.uri("other.plan")] == OTHER.replace("small", "7B chat")
        made.open("parts.plan", texts[made.uri("parts.plan")])
        made.change(uri, texts[uri])
        await made.codes(uri, ["PLN901"])
        references = await made.client.text_document_references_async(
            types.ReferenceParams(**made.at(uri, 'model = "7B| chat"'), context=types.ReferenceContext(True))
        )
        assert [(one.uri, one.range.start.line) for one in references or ()] == [
            (uri, text[: text.index("model = small")].count("\n")),
            (made.uri("parts.plan"), 2),
        ]

    run(tmp_path, scenario)


def test_policies_that_come_with_planc_are_led_to_and_left_alone(tmp_path: Path) -> None:
    text = 'use "planc/policies/slurm"\npolicy ours from slurm { walltime = none }\n'

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        await made.codes(uri, [])
        found = await made.client.text_document_definition_async(types.DefinitionParams(**made.at(uri, "from sl|urm")))
        assert isinstance(found, (list, tuple)) and isinstance(found[0], types.Location)
        assert found[0].uri.endswith("planc/policies/slurm.plan")
        params = types.RenameParams(**made.at(uri, "from sl|urm"), new_name="other")
        assert await made.client.text_document_rename_async(params) is None
        assert made.shown == ["`slurm` is of planc's own catalogue, which cannot be edited"]

    run(tmp_path, scenario)


def test_a_rename_that_would_break_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "parts.plan").write_text(PARTS)
    text = (
        'use "planc/gpus"\nuse "planc/models"\n' + PLAN + "model taken from small {}\ngpu mine from h100-sxm-80gb {}\n"
    )

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)

        async def refusal(marked: str, name: str) -> str:
            before = len(made.shown)
            params = types.RenameParams(**made.at(uri, marked), new_name=name)
            assert await made.client.text_document_rename_async(params) is None
            (reason,) = made.shown[before:]
            return reason

        assert await refusal("model = sm|all", "taken") == "a.plan has a model `taken` already"
        assert await refusal("model = sm|all", "llama-7b") == "planc/models has a model `llama-7b` already"
        assert await refusal("model = sm|all", " ") == "a name cannot be empty"
        assert await refusal("model = sm|all", "a\nb") == "a name cannot hold characters that do not print"
        assert (
            await refusal("h100|-sxm-80gb", "x")
            == "`h100-sxm-80gb` is of planc's own catalogue, which cannot be edited"
        )
        assert await refusal("precision| = bf16", "x") == "there is no name of a block here"
        params = types.PrepareRenameParams(**made.at(uri, "h100|-sxm-80gb"))
        assert await made.client.text_document_prepare_rename_async(params) is None

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("offered", "chosen", "column"),
    [(None, "utf-16", 23), (["utf-8"], "utf-8", 25), (["utf-32", "utf-16"], "utf-32", 22)],
)
def test_positions_count_what_was_agreed(tmp_path: Path, offered: list[str] | None, chosen: str, column: int) -> None:
    general = types.GeneralClientCapabilities(
        position_encodings=[types.PositionEncodingKind(one) for one in offered or ()]
    )
    capabilities = types.ClientCapabilities(general=general if offered else None)

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", f'plan "{EMOJI}" {{ parallel {{ tensr = 2 }} }}\n')
        found = (await made.codes(uri, ["PLN012"] * 4 + ["PLN011"]))[-1]
        assert found.range.start == types.Position(0, column)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, column - 3))
        hover = await made.client.text_document_hover_async(params)
        assert hover is not None and hover.range is not None and hover.range.end.character == column - 3

    run(tmp_path, scenario, capabilities)


def test_formatting_actions_and_outline(tmp_path: Path) -> None:
    text = "# one\n# two\n" + CLEAN.replace("gpu = card  nodes", "gpu   =   card  nodes").replace("4Ki", "8k")

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        await made.codes(uri, [])
        document = types.TextDocumentIdentifier(uri)
        options = types.FormattingOptions(tab_size=2, insert_spaces=True)
        edits = await made.client.text_document_formatting_async(types.DocumentFormattingParams(document, options))
        from planc.format.formatting import format_text

        assert edits and applied(text, edits) == format_text(text)
        at = made.at(uri, "8|k")["position"]
        context = types.CodeActionContext([])
        actions = await made.client.text_document_code_action_async(
            types.CodeActionParams(document, types.Range(at, at), context)
        )
        assert actions is not None
        (action,) = [one for one in actions if isinstance(one, types.CodeAction)]
        assert action.title == "write `8Ki`" and not action.is_preferred
        assert action.edit is not None and action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit) and change.text_document.version == 1
        edits = [one for one in change.edits if isinstance(one, types.TextEdit)]
        assert applied(text, edits) == text.replace("8k", "8Ki")
        symbols = await made.client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert [one.name for one in symbols or ()] == ["card", "one", "small", "run"]
        batch = [one for one in (symbols or ())[-1].children if one.name == "batch"]
        assert [one.name for one in batch[0].children] == ["global", "micro", "sequence_length"]
        folds = await made.client.text_document_folding_range_async(types.FoldingRangeParams(document))
        assert [(one.start_line, one.end_line) for one in folds or ()] == [(5, 8), (0, 1)]
        marks = await made.client.text_document_document_highlight_async(
            types.DocumentHighlightParams(**made.at(uri, "model = sm|all"))
        )
        assert [mark.range.start.line for mark in marks or ()] == [4, 5]

    run(tmp_path, scenario)


def test_a_finding_can_be_allowed_with_a_reason(tmp_path: Path) -> None:
    text = CLEAN.replace("heads = 8", "heads = 7")

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        (found,) = await made.codes(uri, ["PLN110"])
        context = types.CodeActionContext([], only=[types.CodeActionKind.QuickFix])
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), found.range, context)
        actions = await made.client.text_document_code_action_async(params)
        (action,) = [one for one in actions or () if one.title.startswith("allow `")]
        assert isinstance(action, types.CodeAction) and not action.is_preferred
        assert action.edit is not None and action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        written = applied(text, [one for one in change.edits if isinstance(one, types.TextEdit)])
        made.change(uri, written)
        await made.codes(uri, ["PLN056"])
        made.change(uri, written.replace(" -- ", " -- a test"))
        await made.codes(uri, [])

    run(tmp_path, scenario)


def test_all_safe_fixes_at_once(tmp_path: Path) -> None:
    text = CLEAN.replace("gpu = card", "gpu = card,, inter_node = 400 Gbit/s").replace(
        "precision = bf16", 'precision = "bf16"'
    )

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        document, everywhere = (
            types.TextDocumentIdentifier(uri),
            types.Range(types.Position(0, 0), types.Position(9, 0)),
        )

        async def offered(kind: types.CodeActionKind) -> list[types.CodeAction]:
            context = types.CodeActionContext([], only=[kind])
            found = await made.client.text_document_code_action_async(
                types.CodeActionParams(document, everywhere, context)
            )
            return [one for one in found or () if isinstance(one, types.CodeAction)]

        while len(made.published.get(uri, types.PublishDiagnosticsParams(uri, [])).diagnostics) < 2:
            await asyncio.sleep(0.02)
        titles = {action.title for action in await offered(types.CodeActionKind.QuickFix)}
        assert titles == {"remove the comma", "remove the quotes"}
        assert await offered(types.CodeActionKind.Refactor) == []
        (action,) = await offered(types.CodeActionKind.Source)
        assert action.edit is not None and action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        mended = applied(text, [one for one in change.edits if isinstance(one, types.TextEdit)])
        assert mended == CLEAN.replace("gpu = card", "gpu = card, inter_node = 400 Gbit/s")
        made.change(uri, mended)
        await made.codes(uri, [])
        assert await offered(types.CodeActionKind.SourceFixAll) == []

    run(tmp_path, scenario)


def test_texts_without_a_file_and_texts_that_are_not_open(tmp_path: Path) -> None:
    async def scenario(made: Editor) -> None:
        uri = made.open("untitled:one", CLEAN.replace("model = small", "model = smal"))
        await made.codes(uri, ["PLN010"])
        made.change(uri, CLEAN)
        await made.codes(uri, [])
        nowhere = types.TextDocumentIdentifier(made.uri("nowhere.plan"))
        assert await made.client.text_document_hover_async(types.HoverParams(nowhere, types.Position(0, 0))) is None
        assert await made.client.text_document_document_symbol_async(types.DocumentSymbolParams(nowhere)) is None

    run(tmp_path, scenario)


def test_a_large_text_is_checked_and_nobody_waits_for_answers_about_it(tmp_path: Path) -> None:
    copies = [CLEAN[CLEAN.index("plan run") :].replace("plan run", f"plan run{number}") for number in range(800)]
    text = CLEAN + "".join(copies)
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        document, place = types.TextDocumentIdentifier(uri), types.Position(6, 8)
        small = made.open("b.plan", CLEAN)
        await made.client.text_document_hover_async(types.HoverParams(document, place))
        began = time.monotonic()
        completion = types.CompletionParams(document, place)
        assert await made.client.text_document_completion_async(completion) is None
        formatting = types.DocumentFormattingParams(document, options)
        assert await made.client.text_document_formatting_async(formatting) is None
        rename = types.RenameParams(document, place, "other")
        assert await made.client.text_document_rename_async(rename) is None
        assert await made.client.text_document_document_symbol_async(types.DocumentSymbolParams(document)) is None
        assert time.monotonic() - began < PATIENCE / 4
        assert made.shown == [
            "the file is too large to be formatted while you wait: run `planc fmt`",
            "the file is too large for names to be looked up while you wait",
        ]
        made.change(uri, text[: 100 << 10].rpartition("}\n")[0])
        assert await made.client.text_document_completion_async(completion) is not None
        await made.codes(small, [])

    run(tmp_path, scenario)


def test_a_large_text_is_checked(tmp_path: Path) -> None:
    text = CLEAN.replace("model = small", "model = smal") + "# a long comment\n" * 10_000

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        await made.codes(uri, ["PLN010"])
        made.change(uri, text.replace("model = smal", "model = small"))
        await made.codes(uri, [])

    run(tmp_path, scenario)


def test_the_least_severity_of_the_configuration_holds_for_advice_too(tmp_path: Path) -> None:
    (tmp_path / "planc.toml").write_text('min-severity = "warning"\n[per-path."b.plan"]\nmin-severity = "info"\n')

    async def scenario(made: Editor) -> None:
        text = CLEAN.replace("model = small", "model = smal").replace("4Ki", "8k")
        for name, codes in (("a.plan", {"PLN010"}), ("b.plan", {"PLN010", "PLN036", "PLN937"})):
            uri = made.open(name, text)
            await made.codes(uri, ["PLN010"])  # what costs more to find is shown a moment later
            while {one.code for one in made.published[uri].diagnostics} != codes:
                await made.news()

    run(tmp_path, scenario)


def test_only_the_last_of_many_changes_counts(tmp_path: Path) -> None:
    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", CLEAN)
        for end in range(0, len(CLEAN), 7):
            made.change(uri, CLEAN[:end])
        made.change(uri, CLEAN.replace("model = small", "model = smal"))
        await made.codes(uri, ["PLN010"])
        versions = [params.version for params in made.all_published if params.uri == uri]
        assert versions == sorted(versions)

    run(tmp_path, scenario)


async def ask_everything(made: Editor, uri: str, chance: random.Random) -> None:
    """Every request at a random place of a text."""
    document, client = types.TextDocumentIdentifier(uri), made.client
    lines = made.texts[uri].count("\n")
    place = types.Position(chance.randrange(lines + 2), chance.randrange(90))
    end = types.Position(place.line, place.character + 5)
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    answers = await asyncio.gather(
        client.text_document_completion_async(types.CompletionParams(document, place)),
        client.text_document_hover_async(types.HoverParams(document, place)),
        client.text_document_definition_async(types.DefinitionParams(document, place)),
        client.text_document_references_async(types.ReferenceParams(types.ReferenceContext(True), document, place)),
        client.text_document_document_highlight_async(types.DocumentHighlightParams(document, place)),
        client.text_document_prepare_rename_async(types.PrepareRenameParams(document, place)),
        client.text_document_rename_async(types.RenameParams(document, place, "another")),
        client.text_document_formatting_async(types.DocumentFormattingParams(document, options)),
        client.text_document_code_action_async(
            types.CodeActionParams(document, types.Range(place, end), types.CodeActionContext([]))
        ),
        client.text_document_document_symbol_async(types.DocumentSymbolParams(document)),
        client.text_document_folding_range_async(types.FoldingRangeParams(document)),
    )
    assert len(answers) == 11


@pytest.mark.parametrize("example", ["study", "pretrain-h200"])
def test_the_server_survives_whatever_is_typed(tmp_path: Path, example: str) -> None:
    text = (ROOT / "examples" / f"{example}.plan").read_text(encoding="utf-8")
    chance = random.Random(example)

    async def scenario(made: Editor) -> None:
        uri = made.open("a.plan", text)
        other = made.open("b.plan", 'use "a.plan"\nplan mine from study { }\n')
        for state in edited(text, chance, 30):
            version = made.change(uri, state)
            await ask_everything(made, uri, chance)
            await ask_everything(made, other, chance)
            if chance.random() < 0.3:
                while made.published[uri].version != version:
                    await asyncio.sleep(0.01)
        made.change(uri, CLEAN.replace("model = small", "model = smal"))
        await made.codes(uri, ["PLN010"])

    run(tmp_path, scenario)


def test_leaving_without_a_word_is_told(tmp_path: Path) -> None:
    async def scene() -> int:
        client = LanguageClient("editor", "1")
        await client.start_io(sys.executable, "-m", "planc", "lsp", cwd=tmp_path, env=environment())
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        client.exit(None)
        assert client._server is not None
        status = await asyncio.wait_for(client._server.wait(), PATIENCE)
        await client.stop()
        return status

    assert asyncio.run(scene()) == 1


def test_an_editor_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    outcome = planc("lsp", cwd=tmp_path, stdin=b"")
    assert (outcome.returncode, outcome.stdout) == (1, "")


def test_without_pygls_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from planc.commands.main import main

    monkeypatch.delitem(sys.modules, "planc.commands.serving", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)  # as if it could not be found
    assert main(["lsp"]) == 2
    assert capsys.readouterr().err == (
        "planc: the language server needs pygls 2; install it with `pip install 'planc[lsp]'`\n"
    )
