"""The text of a configuration, `planc.toml` or `[tool.planc]` in `pyproject.toml`, as values with their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Severity
from planc.diagnostics.names import nearest
from planc.readers.toml_places import Places
from planc.reporting import faults
from planc.reporting.configuration import NONE, Chosen, Configuration, PathRule, Written
from planc.reporting.selection import ALL, is_code, is_fixed, is_policy
from planc.reporting.settings import KEYS, PER_PATH_KEYS, SETTINGS
from planc.source import Source, Span

if TYPE_CHECKING:
    from planc.plan.house import House

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_FORMS = {setting.key: setting.form for setting in SETTINGS}

#: The codes and names that rules have; asked for only where a name has to be checked.
Known = Callable[[], Mapping[str, tuple[str, Severity]]]


def read(source: Source, table: tuple[str, ...], known: Known) -> tuple[Configuration, tuple[Diagnostic, ...]]:
    """The configuration in a text of TOML, below a table of it, and what is wrong with it."""
    import tomllib  # most folders have no configuration

    try:
        document: Any = tomllib.loads(source.text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return NONE._replace(source=source), (_unreadable(source, str(error)),)
    for name in table:
        document = document.get(name, {}) if isinstance(document, dict) else {}
    reader = _Reader(source, table, known)
    if not isinstance(document, dict):
        reader.wrong("a table is due", "write `[tool.planc]` and the settings below it")
        document = {}
    return reader.configuration(document), tuple(reader.found)


def _unreadable(source: Source, message: str) -> Diagnostic:
    match = _AT.search(message)
    at = len(source.text)
    if match is not None and match[1] is not None:
        lines = source.text.split("\n")
        at = sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    at = min(at, len(source.text))
    text = _AT.sub("", message)
    said = f"{text[:1].lower()}{text[1:]}"
    return faults.UNREADABLE_CONFIGURATION.at(Span(source, at, at), "the configuration is not TOML", said)


class _Reader:
    """Reads one document; `found` collects what is wrong."""

    __slots__ = ("_known", "_places", "_source", "_table", "_unusable", "found")

    def __init__(self, source: Source, table: tuple[str, ...], known: Known) -> None:
        self._source = source
        self._table = table
        self._known = known
        self._places = Places(source)
        self._unusable: set[str] = set()
        self.found: list[Diagnostic] = []

    def configuration(self, document: Mapping[str, Any]) -> Configuration:
        written = []
        for key, value in document.items():
            if self._is_known(key, KEYS, (key,)):
                written.append(Written(key, value, self._places.key(*self._table, key)))
        values = {setting.key: setting.value for setting in written}
        per_path = self._per_path(values.get("per-path", {}))
        baseline = self._text(values["baseline"], "a file's name", "baseline") if "baseline" in values else None
        return Configuration(
            self._source,
            chosen=self._chosen(values, ()),
            per_path=per_path,
            exclude=self._texts(values, "exclude") or (),
            baseline=baseline,
            house=self._house(values),
            written=tuple(setting for setting in written if setting.key not in self._unusable),
        )

    def wrong(self, message: str, help: str, *path: str, span: Span | None = None, fix: str = "") -> None:
        """Reports a value that cannot be used; with `span`, a part of it without which the rest can."""
        if span is None:
            self._unusable.update(path[:1] if len(path) == 1 else ())
        place = span or self._places.key(*self._table, *path)
        fixes = (Fix(f"write `{fix}`", (Edit(place, f'"{fix}"'),), safe=False),) if fix else ()
        self.found.append(faults.WRONG_SETTING.at(place, message, help=(help,) if help else (), fixes=fixes))

    def _is_known(self, key: str, keys: tuple[str, ...], path: tuple[str, ...]) -> bool:
        if key in keys:
            return True
        guess = nearest(key, keys)
        place = self._places.key(*self._table, *path)
        self.found.append(
            faults.UNKNOWN_SETTING.at(
                place,
                f"no setting `{key}`" if keys is KEYS else f"no setting `{key}` for a path",
                "no such setting",
                help=(f"did you mean `{guess}`?",) if guess else (),
                notes=(f"the settings are {', '.join(f'`{known}`' for known in keys)}",),
            )
        )
        return False

    def _chosen(self, values: Mapping[str, Any], path: tuple[str, ...]) -> Chosen:
        as_error = values.get("warn-as-error")
        if isinstance(as_error, bool):
            warn_as_error: tuple[str, ...] | None = (ALL,) if as_error else ()
        else:
            warn_as_error = self._rules(values, "warn-as-error", path)
        return Chosen(
            self._rules(values, "select", path),
            self._rules(values, "ignore", path),
            warn_as_error,
            self._severity(values, path),
        )

    def _severity(self, values: Mapping[str, Any], path: tuple[str, ...]) -> Severity | None:
        value = values.get("min-severity")
        words = [severity.value for severity in Severity]
        if value is None:
            return None
        if value in words:
            return Severity(value)
        choices = either([f'`"{word}"`' for word in words])
        self.wrong("`min-severity` is one of three words", f"write {choices}", *path, "min-severity")
        return None

    def _per_path(self, value: Any) -> tuple[PathRule, ...]:
        if not isinstance(value, dict):
            self.wrong("`per-path` is a table", 'write `[per-path."legacy/*"]` and settings below it', "per-path")
            return ()
        found = []
        for pattern, values in value.items():
            path = ("per-path", pattern)
            if not isinstance(values, dict):
                self.wrong("a pattern has a table of settings", f'write `[per-path."{pattern}"]`', *path)
                continue
            known = {key: item for key, item in values.items() if self._is_known(key, PER_PATH_KEYS, (*path, key))}
            found.append(PathRule(pattern, self._chosen(known, path), self._places.key(*self._table, *path)))
        return tuple(found)

    def _house(self, values: Mapping[str, Any]) -> House | None:
        policies = self._texts(values, "policies") or ()
        versions = values.get("versions", {})
        if not isinstance(versions, dict):
            self.wrong("`versions` is a table", 'write `[versions]` and `torch = "2.13"` below it', "versions")
            versions = {}
        for name, version in list(versions.items()):
            if self._text(version, "a version", "versions", name) is None:
                versions = {key: item for key, item in versions.items() if key != name}
        if not policies and not versions:
            return None
        from planc.plan.house import house  # few configurations have either

        def place(text: str, *path: str) -> Span:
            return self._places.value(text, *self._table, *path)

        return house(
            self._source,
            [(name, place(name, "policies")) for name in policies],
            [
                (name, self._places.key(*self._table, "versions", name), version, place(version, "versions", name))
                for name, version in versions.items()
            ],
        )

    def _text(self, value: Any, what: str, *path: str) -> str | None:
        if isinstance(value, str) and value:
            return value
        shown = value if isinstance(value, (int, float)) and not isinstance(value, bool) else "..."
        self.wrong(f"`{path[-1]}` is {what}, a text", f'write `{path[-1]} = "{shown}"`', *path)
        return None

    def _texts(self, values: Mapping[str, Any], key: str, path: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        value = values.get(key)
        if value is None:
            return None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            if "" in value:
                span = self._places.value("", *self._table, *path, key)
                self.wrong(f"an empty text in `{key}`", "leave it out", span=span)
            return tuple(item for item in value if item)
        text = f'"{value}"' if isinstance(value, str) else '"..."'
        also = " or `true`" if _FORMS[key] == "flag or rules" else ""
        self.wrong(f"`{key}` is a list of texts", f"write `{key} = [{text}]`{also}", *path, key)
        return None

    def _rules(self, values: Mapping[str, Any], key: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
        texts = self._texts(values, key, path)
        if key == "select" and texts == ():
            self.wrong("`select` chooses nothing", "leave it out, or name rules", *path, key)
            return None
        for entry in texts or ():
            if entry == ALL or is_policy(entry):
                continue
            problem = wrong_entry(entry, self._known(), ignored=key == "ignore")
            if problem is not None:
                span = self._places.value(entry, *self._table, *path, key)
                self.wrong(*problem[:2], span=span, fix=problem[2])
        return texts


def wrong_entry(entry: str, known: Mapping[str, tuple[str, Severity]], ignored: bool) -> tuple[str, str, str] | None:
    """What is wrong with a code or name that chooses rules: message, help, what it should be; None if it is right."""
    codes = [code for code in known if (code.startswith(entry.upper()) if is_code(entry) else known[code][0] == entry)]
    if not codes:
        names = [name for name, _ in known.values()]
        guess = nearest(entry, [*names, *known])
        return f"no rule `{entry}`", f"did you mean `{guess}`?" if guess else "`planc rule` lists them", guess or ""
    if ignored and all(is_fixed(code, known[code][1]) for code in codes):
        message = f"`{entry}` is an error in the language"
        return message, "what is not understood is not checked, so it is always reported", ""
    return None
