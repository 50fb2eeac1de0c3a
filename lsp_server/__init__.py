"""The language server: wiring between an editor and the analysis. Importing it loads nothing."""
