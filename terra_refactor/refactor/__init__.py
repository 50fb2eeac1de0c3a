"""From actions to edits of source text."""
