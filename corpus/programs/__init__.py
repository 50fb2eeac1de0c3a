"""Programs like what people write, each with what a reviewer expects of the analysis; `expectations.py` reads that."""
