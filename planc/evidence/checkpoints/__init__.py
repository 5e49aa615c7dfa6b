"""What a checkpoint says of itself: its format, its step, its parameters, and the ranks that wrote it.

`found.py` is the result and `finding.py` the way to it: the names in a folder say where checkpoints lie and of which
format they are, and each format has a module, which reads the few files that describe the others. `tensors.py` counts
parameters, `pickled.py` reads pickles without running them, `archive.py` finds them in what `torch.save` writes.
`fitting.py` compares with a plan.

Nothing here opens a file: what does is handed down, and what is in the files is believed of nothing but the checkpoint.
"""
