"""From facts and hazards to the classification and the action of each function.

Computes: safe, speculative or unsafe, with a reason and assumptions; the action; the diagnostics of `lint`. Needs:
the facts, and the findings of rules. Gives: `decide.decide` and `findings.find`. Each decision is made here, once:
the rooms below only apply or show it.
"""
