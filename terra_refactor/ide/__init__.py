"""Answers for an editor, independent of protocol and editor.

A `Session` holds a project and the open texts; it returns a `Snapshot`, the facts about one text and all files
connected with it by imports. Each feature is a function of a snapshot: `diagnostics`, `hover`, `inlay_hints`,
`code_lens`, `code_actions`.
"""
