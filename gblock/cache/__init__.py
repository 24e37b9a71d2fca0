"""Results of earlier checks, used again while everything that they were read from is unchanged."""
