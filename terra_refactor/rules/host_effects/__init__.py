"""TR1xx: host side effects. They happen while a graph is traced, not when it runs."""
