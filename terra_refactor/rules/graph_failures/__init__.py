"""TR3xx: code that fails in a graph, or whose meaning changes."""
