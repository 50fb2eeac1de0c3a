"""The single entry point: files, cache, workers, and the steps from paths to results.

Gives: `workspace.analyze`, `workspace.lint`, `workspace.fix`, which the commands, the language server and the tests
call.
"""
