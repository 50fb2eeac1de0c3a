"""TR2xx: retracing. A graph is built again where one should do."""
