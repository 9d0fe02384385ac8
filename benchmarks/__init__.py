"""How fast, and how well: scripts whose numbers are in the docs."""
