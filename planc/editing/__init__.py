"""What an editor shows of a text: pure functions from texts and places to values."""
