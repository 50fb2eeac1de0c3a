"""The code of a function as records, created in one pass over its operations: all that rules and decisions query."""
