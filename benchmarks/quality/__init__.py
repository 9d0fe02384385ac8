"""Detection quality on real data: data sets × methods × detectors × seeds → a tidy table and a page.

tasks.py ─► methods.py ─► detectors.py ─► run.py (a CSV) ─► table.py (numbers) ─► page.py (one HTML file)
"""
