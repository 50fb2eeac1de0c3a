"""What each operation of the IR does to a state: one module per family of operations, each with its table of handlers."""
