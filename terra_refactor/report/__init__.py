"""The formats in which results are printed.

Computes: text, HTML, JSON, SARIF, and what GitHub, GitLab, JUnit readers and reviewdog take. Needs: the results of the workspace. Gives:
`schema.build_report` (the JSON report as data classes, described by `report-1.schema.json`) and one `to_*.py` for each format.
`places.py` says where something is in the file as it lies on disk, notebooks included. Everything is sorted: two runs print the same
bytes.
"""
