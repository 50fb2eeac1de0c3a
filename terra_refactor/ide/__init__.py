"""Answers for an editor, in the terms of the core: no protocol, no editor.

A `Session` holds a project and the texts that are open; it returns a `Snapshot`, the facts about one text and all files that imports
connect with it. Each feature is a function of a snapshot: `diagnostics`, `hover`, `inlay_hints`, `code_lens`, `code_actions`.
"""
