"""A door: requests from a browser or a program → the review's desk and the scoring story → pages and JSON."""
