"""TR4xx: tensor shapes and dtypes that cannot work, in any mode."""
