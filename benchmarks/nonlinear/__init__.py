"""Distractors that no linear projection removes: tasks × methods × detectors × seeds → a tidy table.

tasks.py ─► methods.py (and neural.py) ─► run.py ─► a CSV ─► page.py (docs/kernel.md)
"""
