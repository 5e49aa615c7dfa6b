"""What is reported of what was found: a house's configuration, suppressions in the text, a baseline, and repairs.

Pure functions from diagnostics and texts to diagnostics and texts; `commands/` finds the files.
"""
