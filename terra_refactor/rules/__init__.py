"""The rules: one file each, below the folder of its family, with documentation and samples.

Gives: `rule.Rule` (the declaration), `registry.all_rules`, `view.ContextView` (the queries of a rule's check). A rule that reports an
effect of the analysis only declares it; others have a check. `explain`, docs/rules/ and the tests read the same declarations.
"""
