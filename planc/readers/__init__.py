"""Files of other tools, read as if their content had been written in the language."""
