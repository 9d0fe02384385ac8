"""Recognition from a few examples: the nuisance is learned from groups of other classes.

Tasks, methods, a run that goes on where it was, and the tables of docs/classification.md.
"""
