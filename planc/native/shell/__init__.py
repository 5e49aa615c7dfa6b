"""Shell scripts, read and never run: text -> syntax tree -> commands with the words that they get -> launches.

`parsing.py` alone knows tree-sitter; `nodes.py` is the tree as plain data. `values.py` says what a variable holds as
far as it can be told, `scopes.py` where, `words.py` (with `arithmetic.py`) what a word expands to. `reading.py` walks a
script in the order in which it runs: `commands.py` reads what always runs, `branches.py` what may not run or run often,
with `surveying.py` for what is set elsewhere, `heredocs.py` and `embedded.py` for texts that a script holds,
`directives.py` for its comments. `model.py` is the result.

What cannot be known from the text is unknown, and says why: nothing is guessed, nothing is looked up on this machine.
"""
