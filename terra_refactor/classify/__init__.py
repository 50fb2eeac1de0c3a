"""From facts and hazards to the classification of each function and to what should be done with it.

Computes: safe, speculative or unsafe, with a reason and assumptions; the action; the diagnostics of `lint`. Needs:
the facts, and what the rules find. Gives: `decide.decide` and `findings.find`. It is decided here once: the rooms
below only act on it or show it.
"""
