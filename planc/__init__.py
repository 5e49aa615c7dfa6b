"""planc: a linter and compiler for distributed training plans.

How it is built. A plan's text goes one way, and each arrow is one function from the value on its left to that on its
right:

    text -> syntax tree -> resolved plan -> facts -+-> rules   -> diagnostics
    (source) (syntax)      (plan)          (facts) +-> targets -> emitted files

- `source.py` names a text and places in it. `diagnostics/` is what planc says: one value, one renderer a form of
  output.
- `syntax/` reads text: `lexer.py` and `parse.py` run the tables that lark makes of `grammar/plan.lark`
  (`build_tables.py`); `nodes.py` is the tree, plain data; `errors.py` says what is wrong and where reading goes on,
  with `slips.py` and `conditions.py` for what people of other languages write;
  `outline.py` reads of the catalogue only the blocks that are asked for.
- `readers/` take the files of other tools for text of the language: `huggingface.py` gives a config.json as the body of
  a `model` block, each node at its place in that file.
- `plan/` gives it meaning, in this order. `schema.py` is the language as data (every field with type, default and
  other names), `units.py` its units. `scope.py` finds names across files; `merge.py` makes shapes (`shape.py`) of
  blocks, with what they inherit, narrow and read from a file (`imports.py`). `instance.py` works out the fields of
  one plan, each once: `quantities.py`, `evaluate.py` and `coerce.py` turn expressions into typed values, `solve.py`
  follows `auto`, `groups.py` adds up unlike nodes. `emission.py` reads targets and policies (`policies.py`;
  `judgeable.py` asks whether a rule can be broken),
  `candidates.py` the fields left open, `overrides.py` the command line's. `resolve.py` runs all of it; `families.py`
  knows Hugging Face's models, `faults.py` holds the kinds of fault, `meant.py` what an unknown name was meant to be,
  `null.py` the words for nothing, `naming.py` and `renaming.py` the repairs.
  `model.py` is the result, a tree of located values, and imports none of the others; `plain.py` gives it as the text
  that travels with a job, and reads it again.
- `facts/` derives numbers, a module a subject. A fact is a formula with its inputs; its docstring is its evidence
  (`evidence.py`), in which constants stand by name.
- `rules/` judge: a file a rule, found by its name; the docstring is the page that `planc rule` shows.
- `targets/` write: a file a target, found by its name, with `templates/<target>/` and schemas beside it.
- `format/` gives a text its canonical layout, from its tokens and comments (`pieces.py`) over words and line breaks
  (`layout.py`) to columns (`columns.py`).
- `compiler.py` is the pipeline on one screen, `kinds.py` lists all that it can report; `explanation.py` and
  `manifest.py` put its result into what `explain` shows and `compile` leaves beside its files, and `verifying.py` lists
  what no file can tell of the machines. `commands/` is the only
  part that reads, writes, prints or exits; `resources.py` finds the data that is shipped. `catalogue/` holds GPUs and
  models and `policies/` policies, in the language itself.
- `reporting/` decides what is said of what was found: `configuration.py` (read by `configuration_text.py`),
  `selection.py`, `suppressions.py`, `baseline.py`; `fixing.py` applies repairs. `plan/house.py` is what a configuration
  adds to every plan.
- `showing/` puts plans and their numbers into text, Markdown and JSON: for `explain` all of them in `full.py`, the
  terms of one in `why.py`, who sits where in `ranking.py`, what limits a plan in `limits.py`; for `diff` what
  differs in `changes.py`, two states beside each other in `comparison.py`.
- `advice/` is the ladder of `planc advise`: what is tried (`ladder.py`), with which sizes (`layouts.py`), which micro
  batches and recomputation (`refining.py`), and the plan.
- `measuring/` reads what runs measured (`logs.py`, `tables.py`), and finds the factors by which a prediction differs.
- `evidence/` is the record of a run that `planc attest` writes and `planc verify` compares: put together
  (`statement.py`), in its one text (`canonical.py`), signed (`envelope.py`), read without being believed (`record.py`);
  `checkpoints/` reads what checkpoints say of themselves, and says whether a plan can go on from them.
- `native/` judges the configurations of other tools: a text becomes a tree with places (`json_tree.py`, `yaml_tree.py`,
  `toml_tree.py`), is known by its content (`recognising.py`) as one of `kinds/` (a file a kind, found by its name), has
  its keys checked (`keys.py`) against the table of its consumer (`tables/`), and says fields of a plan (`saying.py`).
  What the files of a job say is composed into one plan (`composing.py`) and judged by the rules of plans (`job.py`);
  what they find goes back to the places in the files (`returning.py`). `together.py` holds the files of a job against
  each other, with what the Trainer refuses in `held.py`, `launched.py` a launch against the files that it names,
  `wrapping.py` the classes of layers against the model, and `capacity.py` the job against the cluster; `importing.py`
  makes the plan that `planc import` writes, with what is left (`leftover.py`) and what targets refuse (`refusals.py`)
  and as data (`import_data.py`). A kind's helpers have its name behind an underscore; those of `kinds/shell.py` are
  called by what they look at: a launcher, srun, a scheduler, where nodes meet, the program, the files of a script.
  `megatron/` is what flags of Megatron-LM say, in whatever file they stand.
  `native/shell/` reads scripts, and never runs them: what every command gets, as far as the text says it, and which of
  them start training.
- `editing/` is what an editor shows: `roles.py` says what each token stands for, also in broken text, `checking.py`
  runs the pipeline block by block, and on both stand completion, hover, names and outline. `planc lsp` serves it.

What holds everywhere (`tests/test_layers.py` checks the first two):

- Imports go down only: commands, editing | evidence | native, compiler, reporting, rules | targets | format, facts,
  plan, readers, syntax, diagnostics, source. Rules and targets never import each other or their neighbours.
- Nothing below `commands/` touches the world, but for `resources.py`, which reads what is shipped. Files that a plan
  uses come in through one `load` function.
- No stage raises for what a user wrote: it returns a value and diagnostics, and carries on. What is faulty, missing
  or misspelt becomes `Unknown`; a rule or fact that needs it stays silent. One cause gives one diagnostic.
- Every number is exact until a time or a share is derived, and can be traced: formula, inputs, source, assumption.
- Rules and targets read the same facts, so what is emitted was checked. Targets run only if there was no error.
- The same text gives the same bytes: no clock, host, user, environment or set order reaches an output.
- Start-up counts: values are NamedTuples, jinja2, yaml, json and argparse are imported where they are used.

Absent on purpose: a plugin interface and a registry (a rule or target is a file in its folder), configuration of
single rules (a rule that needs an option is not right yet), and torch: no file of planc imports a framework."""
