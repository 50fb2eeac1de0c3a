"""Code that runs in the user's process, under the user's interpreter: it needs nothing but the standard library."""
