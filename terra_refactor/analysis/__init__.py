"""The abstract interpreter and the facts it publishes."""
