"""Relevant component analysis by metric-learn, adapted to a scikit-learn that renamed an argument.

metric-learn 0.7 hands ``force_all_finite`` to scikit-learn's checks. scikit-learn 1.9 knows it only as
``ensure_all_finite``, so `fit` fails before it reads a row. The one place that calls them for RCA is `_prepare_inputs`:
here it asks scikit-learn itself. What is learned from the rows is metric-learn's own code.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_X_y

from undistract._optional import import_optional


def relevant_components() -> Any:
    """Return metric-learn's RCA, not fitted; only `fit` is fixed."""
    library = import_optional("metric_learn", extra="bench", to="The benchmark against RCA")

    class RCA(library.RCA):  # type: ignore[misc, name-defined]
        def _prepare_inputs(self, X: Any, y: Any, **_: Any) -> Any:
            return check_X_y(X, y, ensure_min_samples=2)

    return RCA()
