"""Answers for an editor, in the terms of the core: no protocol, no editor.

A `Session` holds a project and the texts that are open; it gives a `Snapshot`, which is what is known about one text and
everything that its imports connect it with. Each feature is a function of a snapshot: `diagnostics`, `hover`, `inlay_hints`,
`code_lens`, `code_actions`.
"""
