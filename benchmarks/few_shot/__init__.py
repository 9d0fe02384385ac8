"""Recognition from a few examples: what distracts is learned from sets of other classes.

Tasks, methods, a run that goes on where it was, and the tables of docs/classification.md.
"""
