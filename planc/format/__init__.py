"""The canonical layout of a plan file: text in, text out."""
