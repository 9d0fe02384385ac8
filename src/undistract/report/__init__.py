"""Figures, videos, and the report, which is one HTML file. Needs the extra "plot"."""
