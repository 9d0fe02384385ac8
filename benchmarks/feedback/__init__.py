"""Does feedback help? A simulated person answers alarms, and the detector is tried on other rows.

tasks.py ─► reviewer.py (asks taught.py or rivals.py) ─► run.py (a CSV) ─► page.py (tables and a picture in docs/)
"""
