"""What the code of a function says, as records: made in one pass over its operations, and all that rules and decisions look at."""
