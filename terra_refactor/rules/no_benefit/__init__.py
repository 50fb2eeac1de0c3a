"""TR5xx: graph execution that does not pay off."""
