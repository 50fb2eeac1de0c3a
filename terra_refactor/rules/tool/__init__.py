"""TR9xx: the tool itself."""
