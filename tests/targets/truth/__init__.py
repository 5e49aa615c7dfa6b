"""What the files of each target say, read back: `NAME.py` reads those of the target NAME (`_` for `-`).

`values(files)` gives what it found in the files' text, by the names of `plans.TRUTHS`; what a target has no words for
is left out. A module may also say what a plan needs to emit its target:

    EMIT: what stands in `emit`, if it is more than the target's name
    NEEDS: text that the plan gets besides
    DRAWN: names of `plans.CHOICES` and the values from which they are drawn for this target
"""
