"""Code that runs in the user's process, under the user's interpreter: it needs only the standard library."""
