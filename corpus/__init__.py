"""Example programs: what the analyser and the shim are shown and tested on."""
