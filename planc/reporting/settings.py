"""The settings of a configuration as data; `docs/configuration.md` and the JSON Schema follow it."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """A setting: its key, the form of its value, whether a path may have its own, and what it means.

    form: `rules` (a list of codes, beginnings of codes, names, or `all`), `flag or rules`, `severity`, `file`, `files`,
        `patterns`, `versions` (a table of texts), or `paths` (a table of tables).
    """

    key: str
    form: str
    per_path: bool
    meaning: str


SETTINGS = (
    Setting("select", "rules", True, "the rules whose findings are reported; without it, all"),
    Setting("ignore", "rules", True, "rules whose findings are not reported"),
    Setting("warn-as-error", "flag or rules", True, "warnings that count as errors; `true` is all of them"),
    Setting("min-severity", "severity", True, "the least that is shown: `error`, `warning` (the default) or `info`"),
    Setting("exclude", "patterns", False, "files and folders that are passed over where a folder is searched"),
    Setting("baseline", "file", False, "the file with the findings that were there before planc"),
    Setting("policies", "files", False, "plan files whose policies judge every plan"),
    Setting("versions", "versions", False, "versions of the consumers, where a plan says nothing else"),
    Setting("per-path", "paths", False, "settings for the files that match a pattern"),
)

#: The settings that hold for the whole of a configuration, and those that a pattern in `per-path` may have.
KEYS = tuple(setting.key for setting in SETTINGS)
PER_PATH_KEYS = tuple(setting.key for setting in SETTINGS if setting.per_path)
