"""The formats in which results are printed."""
