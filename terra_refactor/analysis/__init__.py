"""The abstract interpreter and the facts that it publishes.

Computes: the possible values of every expression, the callees and side effects of every call, and the branches that can be taken, for all
functions of a program at once. Needs: the lowered program (`ir`) and the models of libraries (`tf_model`). Gives:
`driver.analyze_program`, whose frozen result, `facts.ProgramFacts`, is the only part that later rooms read.

Read `facts.py`, then `driver.py` (order of the rounds), `interpreter.py` (calls and summaries), `transfer/` (one operation at a time).
`python -m terra_refactor.analysis FILE` prints the facts.
"""
