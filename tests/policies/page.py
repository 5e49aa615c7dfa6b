"""docs/policies.md, made of the policies: `python -m tests.policies.page` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from planc.commands.files import Files
from planc.plan.model import PolicyRule
from planc.plan.policy_list import policies_in
from planc.resources import names
from planc.source import Source
from tests.shared import ROOT

PAGE = ROOT / "docs" / "policies.md"

#: The policies that come with planc, those for every plan first.
SHIPPED = ("recommended", "strict", "single-node", "slurm", "cloud")

_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|#.*')


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The text of the page."""
    assert set(SHIPPED) == set(names("policies", ".plan"))
    head = Path(__file__).with_name("policies.md").read_text(encoding="utf-8")
    return head + "".join(map(_section, SHIPPED))


def _section(name: str) -> str:
    files = Files()
    source = files.load(f"planc/policies/{name}", None)
    assert isinstance(source, Source), source
    (policy,) = policies_in((source,), files.load)
    summary = source.text.partition("\n")[0].removeprefix("# ")
    own = [rule for rule in policy.rules if rule.span.source is source]
    inherited = [f"`{rule.name.partition('.')[2]}`" for rule in policy.rules if rule.span.source is not source]
    rows = "".join(_row(rule) for rule in own)
    from_others = f"\nAs in the policy that it is derived from: {', '.join(inherited)}.\n" if inherited else ""
    link = f"[`{name}.plan`](../planc/policies/{name}.plan)"
    return (
        f"\n### {name}\n\n{summary} ({link})\n\n| rule | | holds for | reason |\n|---|---|---|---|\n{rows}{from_others}"
    )


def _row(rule: PolicyRule) -> str:
    text = " ".join(_COMMENT.sub(lambda match: match[1] or "", rule.span.text).split())
    what, _, reason = text.partition(' because "')
    what, _, guard = what.partition(" when ")
    cells = (f"`{rule.name.partition('.')[2]}`", f"`{what}`", f"`{guard}`" if guard else "every plan", reason[:-1])
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main()
