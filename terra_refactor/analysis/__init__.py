"""The abstract interpreter and the facts that it publishes.

Computes: what every expression may be, what every call reaches and does, and which branches can be taken, for all
functions of a program at once. Needs: the lowered program (`ir`) and what is known of libraries (`tf_model`). Gives:
`driver.analyze_program`, whose answer, `facts.ProgramFacts`, is frozen and is all that later rooms read.

Read `facts.py`, then `driver.py` (order of the rounds), `interpreter.py` (calls and summaries), `transfer/` (one
operation at a time). `python -m terra_refactor.analysis FILE` prints what was found.
"""
