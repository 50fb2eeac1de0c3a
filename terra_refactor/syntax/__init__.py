"""Source text without semantics: text, trees, positions, scopes, module names, edits."""
