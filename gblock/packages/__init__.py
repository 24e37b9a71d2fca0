"""The installed packages of an environment, read from its directories."""
