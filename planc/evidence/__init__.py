"""The record of a run: what was trained, on what, and with which result.

`statement.py` puts it together and `envelope.py` signs it, with keys that `keys.py` reads; `record.py` reads one that
nobody vouches for, and `checking.py` says what differs from it. `canonical.py` is the one text of a value, `names.py`
the one text of a file's name, `folder.py` the content of a folder as a value. `metrics.py` sums up what a run reported;
`metric_files.py`, `metric_logs.py` and `software.py` read it.

Nothing here opens a file: `commands/hashing.py` measures folders, `commands/reports.py` reads reports, and
`commands/attest.py` and `verify.py` hand on what they found. What reads one kind of checkpoint is a function from the
bytes of a header to a value, with a key of its own in the predicate; what compares two records starts from
`record.statement_in`.
"""
