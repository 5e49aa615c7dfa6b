"""The version of planc: the one place where it is written. pyproject.toml reads this file; asking the installed
distribution instead would cost every start 40 ms."""

VERSION = "0.1.0"
