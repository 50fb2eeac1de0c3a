"""The intermediate representation: what a program is, before anything is known about it."""
