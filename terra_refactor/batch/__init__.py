"""Many repositories: each analysed by itself, in a process of its own, into one line of a result file.

Computes: the numbers of decisions in each repository of a manifest. Needs: a manifest, an executor. Gives: `manifest.read_manifest`,
`results.ResultFile` (which makes a run resumable), `executors` (processes of this machine, or a dask cluster),
`summary.print_summary`.
"""
