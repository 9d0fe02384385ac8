"""How fast, and how well: scripts whose numbers stand in the docs."""
