"""What people look at: plots, and the picture of the demo. Needs the extra "plot"."""
