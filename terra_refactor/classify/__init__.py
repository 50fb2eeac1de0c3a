"""From facts and hazards to classification and action."""
