"""Extract Function: turns hot statements into a function."""
