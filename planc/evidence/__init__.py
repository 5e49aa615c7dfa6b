"""The record of a run: what was trained, on what, and with which result.

`statement.py` puts it together and `envelope.py` signs it, with keys that `keys.py` reads; `record.py` reads one that
nobody vouches for, and `checking.py` says what differs from it. `canonical.py` is the one text of a value, `names.py`
the one text of a file's name, `folder.py` the content of a folder as a value. `metrics.py` sums up what a run reported;
`metric_files.py`, `metric_logs.py` and `software.py` read it.

Nothing here opens a file: `commands/hashing.py` measures folders, `commands/reports.py` reads reports, and
`commands/checkpoints.py` hands down what opens a file, `commands/attest.py` and `verify.py` hand on what they found.
`checkpoints/` says what checkpoints are and whether they fit a plan, `dataset_info.py` what data says of itself;
`comparing.py` says what differs between two records.
"""
