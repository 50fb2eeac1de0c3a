"""Lowering of LibCST trees to the IR, a file per family of constructs."""
