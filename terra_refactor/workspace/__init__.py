"""The one front door: files, cache, workers, and the chain from paths to results.

Gives: `workspace.analyze`, `workspace.lint`, `workspace.fix`. The commands, the language server and the tests enter
here.
"""
