"""From actions to edits of source text.

Computes: the new text of a file, byte for byte the old one where nothing was decided. Needs: the source and the
decisions about it. Gives: `plan.refactor_file`, and `apply.write_file`, which replaces a file in one step. A refusal is a result with a
reason.
"""
