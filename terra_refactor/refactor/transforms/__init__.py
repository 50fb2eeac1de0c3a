"""The transformations, one per file: each turns a decision into edits of a definition's decorators."""
