"""TR3xx: code that fails as a graph, or means something else."""
