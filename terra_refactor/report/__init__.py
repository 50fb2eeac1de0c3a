"""The formats in which results are printed.

Computes: text, JSON and annotations for GitHub. Needs: the results of the workspace. Gives: `schema.build_report`
(the JSON report as data classes, described by `report-1.schema.json`) and one `to_*.py` for each format. Everything
is sorted: two runs print the same bytes.
"""
