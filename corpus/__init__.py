"""Example programs, for demonstrations and tests of the analyser and the shim."""
