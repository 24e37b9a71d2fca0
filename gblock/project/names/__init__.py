"""What an expression can be: demand-driven type inference over the whole project."""
