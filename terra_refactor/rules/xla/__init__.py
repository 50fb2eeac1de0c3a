"""TR7xx: what XLA cannot compile, or compiles to something else."""
