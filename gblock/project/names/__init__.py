"""Demand-driven type inference over the whole project."""
