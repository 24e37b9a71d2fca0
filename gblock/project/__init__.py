"""What the whole project says, read with the standard library's ``ast``: no libcst, no rules."""
