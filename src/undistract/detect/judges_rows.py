"""What a fitted watch says of rows: how strange they are, how rare that is, and who is called."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from undistract.detect.alarms import Alarm, find_alarms
from undistract.detect.calibration import Rows
from undistract.detect.scores import Detector, Scores, turned
from undistract.detect.thresholds import Threshold
from undistract.errors import InputError


class JudgesRows:
    """Scores, p-values and alarms of whatever has a focus, a detector and a threshold."""

    adapt: bool
    focus_: Any
    detector_: Detector
    threshold_: Threshold
    offset_: float

    def anomaly_score(self, X: Any) -> NDArray[np.float64]:
        """Score rows X (n, d): high is strange."""
        rows = self._rows(X)
        return self._scored(self.focus_, self.detector_, rows)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Score rows as scikit-learn does: low is strange."""
        return turned(self.anomaly_score(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """How far each row is on the normal side of the threshold; negative rows alarm."""
        scores = self.score_samples(X)
        if not np.isfinite(self.offset_):
            raise InputError(
                f"{self.threshold_.rule} has no fixed value for a lone row with {self.threshold_.n_sets} sets. "
                "Use predict or p_values on whole sets, or a Quantile."
            )
        return scores - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for rows that alarm and 1 for the others; the rows count as one set where the rule judges sets."""
        scores = self.anomaly_score(X)
        return np.where(self.threshold_.alarms(scores), -1, 1)

    def p_values(self, X: Any) -> NDArray[np.float64]:
        """Say how rare each row's score is among held-out normal sets."""
        scores = self.anomaly_score(X)
        return self.threshold_.p_values(scores)

    def find_alarms(
        self, X: Any, *, name: Hashable = "rows", times: Any = None, gap: int = 0, gap_seconds: float | None = None
    ) -> list[Alarm]:
        """Score one set and join its alarms, the strongest first."""
        scores = Scores(name, self.anomaly_score(X), times)
        return find_alarms(scores, self.threshold_, gap=gap, gap_seconds=gap_seconds)

    def _scored(self, focus: Any, scorer: Detector, rows: Rows) -> NDArray[np.float64]:
        projected = focus.transform(rows)
        if self.adapt:
            return clone(scorer, safe=False).fit(projected).scores_  # type: ignore[no-any-return]
        return scorer.anomaly_score(projected)

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        rows: Rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return rows
