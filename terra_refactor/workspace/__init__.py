"""Files, cache, workers, and the one front door: analyze, lint, fix."""
