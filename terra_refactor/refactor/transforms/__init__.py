"""The transformations, one a file: each turns one decision into edits of one definition's decorators."""
