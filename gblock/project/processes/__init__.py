"""What the project starts, on which server, and what each process patches."""
