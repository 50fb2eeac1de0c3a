"""The bundled example project, and the command that shows what is made of it."""
