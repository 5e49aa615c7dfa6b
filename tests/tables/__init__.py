"""The scripts that make key tables, which say what keys a file of a consumer may have.

Each script, `python -m tests.tables.CONSUMER`, writes `planc/native/tables/CONSUMER/VERSION.json` from the consumer
itself. A table holds

- `consumer`, `version`, and `source`: what it was made from;
- `unknown`: what the consumer does with a key that it does not know, `ignored` or `rejected`;
- `keys`: a row a key, the `required` ones, and `removed`: keys of earlier releases that this one has no more, by their
  whole paths, each with `since`, the first release without it (where that is known), and maybe `renamed` and `doc`.

A row of a key says

- `types`: those that the consumer means to take; any without it, none from a file if it is empty; `int` is fine where
  `float` is; `coerced`: the consumer makes them of texts itself;
- `words`: the texts that it takes, where these are listed; `folded`: those of them whose case does not matter;
  `removed_words`: those that earlier releases took, in whatever case;
- `minimum`, `maximum`, `above`, `below`: bounds that the consumer itself checks, the latter two excluded;
- `default`, where it is static;
- `renamed`: still read, but this path is its name now, and `becomes`: what stands there in place of `true`;
  `deprecated`: still read, but no longer meant to be used, with the reason;
- `same`: a second name for the key beside it;
- `auto`: who puts a value in the place of `auto`: `accelerate`, and so the Trainer too, or `hf`, the Trainer alone;
- `only`: the setting without which it has no effect; `doc`: a note;
- of a list, its `items`, as a row;
- of an object, its `keys`; what happens to `unknown` ones, `ignored`, `rejected` or `open` (any key is meant to be
  there), and then what their `values` are like; the `required` ones; `auto_dropped`: a value `auto` is left out, so
  that the default holds; `removed`, by the names of the keys;
- of an object in which one key decides what another may hold, `variants`: that key (`by`), the other (`of`), and the
  `rows` of the latter by the value of the former.

Of flags of a command line, whose values are words, a row says `flag`, the value that the mere name sets; `nargs`, as
argparse has it, where several values may follow, and `each`, the row of one of them; `dest`, the name of what it sets,
where that is another. `keys_of` names the consumer, and its key, whose keys an object has that is handed on; `set_from`
the key from which a consumer sets this one, whatever stands there.
"""
