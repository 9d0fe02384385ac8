"""Write the golden files of the current format: python -m tests.golden.make

A released format never changes, so its files are written once: existing files are kept, and only new types are added.
Each file is a bundle: an object, rows, and the results of the object on these rows.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from undistract import (
    AlarmBudget,
    Conformal,
    DiscriminativeDetector,
    FewShotClassifier,
    Focus,
    FocusDetector,
    GroupMoments,
    GroupQuantile,
    KernelFocus,
    Moments,
    NearestDetector,
    NeuralFocus,
    Quantile,
    RidgeMahalanobis,
    Scores,
    SketchedMoments,
    Source,
    SparseCombinationDetector,
    Spectrum,
    Tail,
    learn,
    save,
)
from undistract.detect import DensityRatioDetector
from undistract.storage.container import FORMAT_VERSION

FOLDER = Path(__file__).parent / f"format-{FORMAT_VERSION}"
DAYS = np.repeat(np.arange(6), 10)


def rows():
    """Six days of ten rows: the first feature differs between days, the second varies within each day."""
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1, 9, 1, 1]
    X[:, 0] += 3 * DAYS
    return X


def moments(path: Path) -> None:
    X = rows()
    fitted = Moments.of({("day", int(day)): X[day == DAYS] for day in range(6)}, prior="by_size")
    save({"moments": fitted, "within": fitted.within, "mean": fitted.mean}, path)


def focus(path: Path, **settings: object) -> None:
    X = rows()
    fitted = Focus(**{"n_remove": 1, **settings}).fit(X, groups=DAYS)
    save({"focus": fitted, "rows": X[:5], "projected": fitted.transform(X[:5])}, path)


def _nearest():
    focus = Focus(n_remove=1).fit(rows(), groups=DAYS)
    Z = focus.transform(rows())
    return NearestDetector(n_neighbors=3).fit(Z), Z


def scores(path: Path) -> None:
    fitted = Scores(("camera", 3), _nearest()[0].scores_[:5], times=np.arange(5).astype("datetime64[ms]"))
    save({"scores": fitted, "values": fitted.values, "times": fitted.times}, path)


def detector(path: Path) -> None:
    fitted, Z = _nearest()
    threshold = Quantile(0.1)([fitted.scores_[day == DAYS] for day in range(6)])
    scored = {"scores": fitted.anomaly_score(Z[:5]), "alarms": threshold.alarms(fitted.scores_)}
    save({"detector": fitted, "threshold": threshold, "rows": Z[:5], **scored}, path)


def penalised(path: Path) -> None:
    X = rows()
    penalty = Focus(n_remove=1).fit(X, groups=DAYS)
    fitted = DiscriminativeDetector(
        window=20, stride=10, n_shuffles=2, random_state=0, progress=False, penalty=penalty
    ).fit(X)
    save({"detector": fitted, "rows": X[:5], "scores": fitted.anomaly_score(X[:5])}, path)


def watch(path: Path) -> None:
    X = rows()
    fitted = FocusDetector(Focus(n_remove=1), NearestDetector(n_neighbors=2), Quantile(0.1)).fit(X, groups=DAYS)
    save({"detector": fitted, "rows": X[:5], "scores": fitted.anomaly_score(X[:5])}, path)


def sketch(path: Path) -> None:
    X = np.random.default_rng(1).normal(size=(60, 12))
    fitted = SketchedMoments.of({day: X[day == DAYS] for day in range(6)}, size=4)
    save({"moments": fitted, "mean": fitted.mean, "inside": fitted.rows_within, "dropped": fitted.dropped}, path)


def neural(path: Path) -> None:
    X = rows()
    fitted = NeuralFocus(n_components=2, n_hidden=8, epochs=2, random_state=0).fit(X, groups=DAYS)
    save({"focus": fitted, "rows": X[:5], "projected": fitted.transform(X[:5])}, path)


def kernel(path: Path) -> None:
    X, groups = rows()[::3], DAYS[::3]
    fitted = KernelFocus(n_remove=3).fit(X, groups=groups)
    waves = KernelFocus(approx="fourier", n_components=12, n_remove=1, random_state=0).fit(X, groups=groups)
    projected = {"projected": fitted.transform(X[:5]), "by_waves": waves.transform(X[:5])}
    save({"focus": fitted, "waves": waves, "rows": X[:5], **projected}, path)


def few_shot(path: Path) -> None:
    X = rows()
    fitted = FewShotClassifier(Moments.from_labels(X, DAYS), within_ridge=0.1).fit(X[::30], ["left", "right"])
    wide = np.random.default_rng(1).normal(size=(12, 30)) + np.repeat(np.eye(3, 30), 4, axis=0)
    few = FewShotClassifier(between_ridge=0.1).fit(wide, np.repeat([3, 7, 11], 4))
    probable = {"probable": fitted.predict_proba(X[::12]), "among_rows": few.predict_proba(2 * wide[:5])}
    save({"few_shot": fitted, "few": few, "rows": X[::12], "wide": 2 * wide[:5], **probable}, path)


def model(path: Path) -> None:
    X = rows()
    groups = [Source(int(day), X[day == DAYS]) for day in range(6)]
    learn(groups, focus=Focus(n_remove=1), n_known=20).save(path)


def review(path: Path) -> None:
    from tests.review.making import random_events
    from undistract.review import ReviewStore

    with ReviewStore.open(path, about={"n_features": 2}) as store:
        for event in random_events(1, 12):
            store.record(event, [1.0, 2.0] if getattr(event, "answer", None) in ("false_alarm", "anomaly") else None)


def others(path: Path) -> None:
    """Write one object of every other type, with its results."""
    X, calm = rows(), [*np.random.default_rng(1).exponential(size=(20, 40))]
    detectors = {
        "mahalanobis": RidgeMahalanobis().fit(X),
        "sparse": SparseCombinationDetector(n_bases=3, size=2, random_state=0).fit(X),
        "ratio": DensityRatioDetector(reference=X[:20]).fit(X),
    }
    rules = {
        "conformal": Conformal(0.05),
        "most groups": GroupQuantile(0.05),
        "tail": Tail(0.001),
        "budget": AlarmBudget(5, rows_per_day=100, gap=2),
    }
    scored = {name: item.anomaly_score(X[:5]) for name, item in detectors.items()}
    thresholds = {name: rule(calm) for name, rule in rules.items()}
    values = {name: item.p_values([0.1, 1.0, 9.0]) for name, item in thresholds.items()}
    sums = {"spectrum": Spectrum.of(Moments.from_labels(X, DAYS)), "set": GroupMoments.of(X)}
    save(
        {
            **{"rows": X[:5], "detectors": detectors, "scores": scored, "rules": {**rules, "quantile": Quantile(0.1)}},
            **{"thresholds": thresholds, "p_values": values, **sums, "within": sums["set"].scatter},
        },
        path,
    )


KINDS: dict[str, Callable[[Path], None]] = {
    "moments": moments,
    "focus": focus,
    "scores": scores,
    "detector": detector,
    "soft": lambda path: focus(path, removal="soft", strength=25.0),
    "penalised": penalised,
    "watch": watch,
    "sketch": sketch,
    "neural": neural,
    "kernel": kernel,
    "few_shot": few_shot,
    "model": model,
    "others": others,
    "review": review,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, write in KINDS.items():
        if not (FOLDER / name).exists():
            write(FOLDER / name)
            print(f"{name}: {(FOLDER / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
