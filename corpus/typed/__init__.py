"""Small programs as people write them, on which the types of the analysis are measured (docs/accuracy.md). Each runs in a few seconds."""
