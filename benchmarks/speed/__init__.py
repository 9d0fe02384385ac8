"""How fast: our fit and its parts against the machine's limit and against peers, and how cost grows.

cases.py ─► peers.py (with rca.py) ─► alone.py, clock.py ─► fits.py, steps.py, growth.py ─► run.py ─► results.py (a CSV)
results.py ─► table.py (words), picture.py ─► page.py (docs/speed.md)
"""
