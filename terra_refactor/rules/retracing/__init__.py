"""TR2xx: retracing. A graph is built repeatedly although one would suffice."""
