"""What people look at: plots, the picture of the demo, and the report, one HTML file. Needs the extra "plot"."""
