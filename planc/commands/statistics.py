"""How often each rule is broken, the most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from planc.diagnostics.diagnostic import Diagnostic
from planc.reporting.fixing import repair_of


def render(diagnostics: Iterable[Diagnostic], output_format: str) -> str:
    """A line, or with `json` an object, for each code: count, code, name, and how many have a safe fix."""
    diagnostics = tuple(diagnostics)
    counts = Counter((found.code, found.name) for found in diagnostics)
    fixable = Counter(found.code for found in diagnostics if repair_of(found, unsafe=False) is not None)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if output_format == "json":
        import json

        data = [{"code": code, "name": name, "count": count, "fixable": fixable[code]} for (code, name), count in rows]
        return json.dumps(data, indent=2) + "\n"
    wide = max((len(str(count)) for _, count in rows), default=0)
    named = max((len(name) for (_, name), _ in rows), default=0)
    lines = []
    for (code, name), count in rows:
        mark = f"{fixable[code]} can be mended with `--fix`" if fixable[code] else ""
        lines.append(f"{count:>{wide}}  {code}  {name:<{named}}  {mark}".rstrip())
    return "".join(f"{line}\n" for line in lines)
