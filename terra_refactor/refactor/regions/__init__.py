"""Extract Function: hot code that is no function of its own becomes one."""
