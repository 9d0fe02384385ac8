"""HTTP: the review page and its API, and the scoring service. Needs the extra "web"."""
