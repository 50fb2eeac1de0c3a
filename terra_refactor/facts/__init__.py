"""The code of a function as records: made in one pass over its operations, and all that rules and decisions look at."""
