"""TR7xx: code that XLA cannot compile, or whose meaning it changes."""
