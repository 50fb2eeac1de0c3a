"""An empty module, under whose name `generated_methods` stores compiled code."""
