"""The formats in which results are printed.

Computes: text, HTML, JSON, SARIF, and the formats of GitHub, GitLab, JUnit and reviewdog. Needs: the results of the workspace. Gives:
`schema.build_report` (the JSON report as data classes, described by `report-1.schema.json`) and one `to_*.py` for each format.
`places.py` computes positions in the file on disk, also in notebooks. Everything is sorted: two runs print the same bytes.
"""
