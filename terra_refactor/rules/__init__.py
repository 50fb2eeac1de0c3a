"""The rules: one file each, with documentation and samples."""
