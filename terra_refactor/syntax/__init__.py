"""Source text and what can be read off it without knowing what it means: text, trees, positions, scopes, module names, edits."""
