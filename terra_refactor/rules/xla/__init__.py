"""TR7xx: code that XLA cannot compile, or compiles to something else."""
