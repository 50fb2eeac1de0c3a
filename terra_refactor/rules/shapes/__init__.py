"""TR4xx: tensor shapes and dtypes that certainly fail, in any mode."""
