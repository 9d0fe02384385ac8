"""Detection quality on real data: data sets × methods × detectors × seeds → a tidy table and a page.

trials.py ─► methods.py ─► detectors.py ─► run.py ─► results.py (a CSV) ─► table.py ─► page.py (one HTML file)
"""
