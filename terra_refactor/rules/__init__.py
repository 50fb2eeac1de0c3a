"""The rules: one file each, below the folder of its family, with documentation and samples.

Gives: `rule.Rule` (what a rule is), `registry.all_rules`, `view.ContextView` (what a rule's check may ask). A rule
that reports an effect of the analysis only declares it; others have a check. `explain`, docs/rules/ and the tests
read the same declarations.
"""
