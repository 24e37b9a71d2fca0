"""The options of the command line and how they are parsed."""
