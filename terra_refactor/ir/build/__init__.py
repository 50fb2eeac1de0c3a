"""Lowering of LibCST trees to the IR, a file for each family of constructs.

Gives: `module.lower_module`. `dispatch.py` has the one table from node to handler; a node without a handler is an
error that names it.
"""
