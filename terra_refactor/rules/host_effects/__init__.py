"""TR1xx: host side effects. They occur while a graph is traced, not when it runs."""
