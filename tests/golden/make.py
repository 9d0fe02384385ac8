"""Make the golden files of the format that `save` writes today: python -m tests.golden.make

A format that was released never changes again, so its files are made once. Each is a bundle: a thing, rows, and what
the thing made of them.
"""

from pathlib import Path

import numpy as np

from undistract import Focus, Moments, NearestDetector, Quantile, Scores, save
from undistract.storage.container import FORMAT_VERSION

FOLDER = Path(__file__).parent / f"format-{FORMAT_VERSION}"


def main():
    rng = np.random.default_rng(0)
    days = np.repeat(np.arange(6), 10)
    X = rng.normal(size=(60, 4)) * [1, 9, 1, 1]
    X[:, 0] += 3 * days
    moments = Moments.of({("day", int(day)): X[days == day] for day in range(6)}, prior="by_size")
    focus = Focus(n_remove=1).fit(X, sets=days)
    detector = NearestDetector(n_neighbors=3).fit(focus.transform(X))
    scores = Scores(("camera", 3), detector.scores_[:5], times=np.arange(5).astype("datetime64[ms]"))
    FOLDER.mkdir(exist_ok=True)
    save({"moments": moments, "within": moments.within, "mean": moments.mean}, FOLDER / "moments")
    save({"focus": focus, "rows": X[:5], "projected": focus.transform(X[:5])}, FOLDER / "focus")
    save({"scores": scores, "values": scores.values, "times": scores.times}, FOLDER / "scores")
    threshold = Quantile(0.1)([detector.scores_[days == day] for day in range(6)])
    projected = focus.transform(X[:5])
    scored = {"scores": detector.anomaly_score(projected), "alarms": threshold.alarms(detector.scores_)}
    save({"detector": detector, "threshold": threshold, "rows": projected, **scored}, FOLDER / "detector")


if __name__ == "__main__":
    main()
