"""Transfer functions of the IR operations: one module for each family of operations, each with its table of
handlers.

Gives: the `HANDLERS` of each module, merged by `analysis.driver`. A handler takes the site and the operation, and
returns the value of the result.
"""
