"""One object of every type that can be saved, and the results that must not change."""

import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.frozen import FrozenEstimator

from undistract import (
    AlarmBudget,
    Conformal,
    DiscriminativeDetector,
    EvidenceWarning,
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
    SparseCombinationDetector,
    Spectrum,
    Tail,
    Threshold,
)
from undistract.detect import DensityRatioDetector

DAYS = np.repeat(np.arange(8), 15)


def rows(n_features=5, seed=0):
    """Eight days of fifteen rows: the first feature differs between days, the second varies within each day."""
    X = np.random.default_rng(seed).normal(size=(len(DAYS), n_features)) * ([1, 9] + [1] * (n_features - 2))
    X[:, 0] += 3 * DAYS
    return X


def focus(**settings):
    return Focus(**{"n_remove": 1} | settings).fit(rows(), groups=DAYS)


def calm():
    return [*np.random.default_rng(1).exponential(size=(20, 40))]


def things():
    """Return small objects by name, fitted with fixed seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # few rows on purpose
        return _things() | (_neural() if find_spec("torch") else {})


def _things():
    X, wide = rows(), rows(130)
    moments = Moments.from_labels(X, DAYS)
    return {
        "moments": moments,
        "folded moments": folded(),
        "wide moments": Moments.of({"a": wide[:9], "b": wide[9:20]}),
        "sketched moments": sketched(),
        "focus of a sketch": Focus(n_remove=1).fit_moments(sketched()),
        "set moments": GroupMoments.of(X),
        "wide set moments": GroupMoments.of(wide[:20]),
        "spectrum": Spectrum.of(moments),
        **{f"focus, {removal}": focus(removal=removal) for removal in ("orthogonal", "eigen", "oblique", "soft")},
        "focus, soft at a strength": focus(removal="soft", strength=25.0),
        "focus that removes nothing": focus(n_remove=0),
        "focus of wide rows": Focus(n_remove=2, removal="eigen").fit_moments(
            Moments.of({"a": wide[:9], "b": wide[9:20]})
        ),
        "growing focus": solved(growing()),
        "waiting focus": growing(),
        "focus that waits again": growing().close_groups([0, 1]).partial_fit(X[-5:], groups=["new"] * 5),
        "unfitted focus": Focus(cutoff=0.9, prior={"mon": 2.0}),
        **_kernels(),
        **few_shots(),
        "nearest": NearestDetector(n_neighbors=3, aggregate="kth").fit(X),
        "nearest in threads": NearestDetector(n_neighbors=3, n_jobs=2).fit(X),
        "mahalanobis": RidgeMahalanobis().fit(X),
        "wide mahalanobis": RidgeMahalanobis().fit(wide),
        "discriminative": discriminative().fit(X),
        "wide discriminative": discriminative(average="margin", cover=False).fit(wide),
        "penalised": discriminative(penalty=focus()).fit(X),
        "penalised by a frozen focus": discriminative(penalty=FrozenEstimator(focus()), strength="auto").fit(X),
        "sparse combination": SparseCombinationDetector(n_bases=3, size=2, random_state=0).fit(X),
        "density ratio": DensityRatioDetector(reference=X[:20]).fit(X),
        "quantile": Quantile(0.05)(calm()),
        "conformal": Conformal(0.05)(calm()),
        "conformal row by row": Conformal(0.3, whole_groups=False)(calm()),
        "most groups": GroupQuantile(0.05)(calm()),
        "tail": Tail(0.001)(calm()),
        "budget": AlarmBudget(5, rows_per_day=100, gap=2)(calm()),
        "rule": Tail(0.001),
        "watch": FocusDetector(focus(), NearestDetector(n_neighbors=2), Quantile(0.05)).fit(X, groups=DAYS),
        "watch that adapts": FocusDetector(Focus(n_remove=1), adapt=True).fit(X, groups=DAYS),
        "scores": Scores("camera-3", [0.1, 7.5, np.nan], times=[0.0, 0.5, 1.0]),
        "scores with dates": Scores(("cam", 3), [0.1, 7.5], times=np.array(["2024-01-01", "2024-01-02"], "M8[s]")),
        "bundle": {
            "focus": focus(),
            "detector": NearestDetector().fit(focus().transform(X)),
            "threshold": Quantile(0.05)(calm()),
            "features": {"of": "pixels", "size": [32, 32], "mean": np.arange(3.0), "whole": True},
            "scores": {("cam", 1): Scores(1, [1.0])},
        },
    }


def _kernels():
    X = rows()
    settings = {"n_remove": 2, "n_components": 12, "random_state": 0}
    streamed = KernelFocus(approx="nystroem", **settings)
    return {
        "kernel focus": KernelFocus(**settings).fit(X, groups=DAYS),
        "kernel focus, softly": KernelFocus("poly", removal="soft", **settings).fit(X, groups=DAYS),
        "kernel focus, precomputed": KernelFocus("precomputed", **settings).fit(X @ X.T, groups=DAYS),
        "kernel focus by waves": KernelFocus(approx="fourier", **settings).fit(X, groups=DAYS),
        "kernel focus that waits": streamed.partial_fit(X, groups=DAYS, batch_id="mon"),
        "kernel focus that is not fitted": KernelFocus(gamma=0.5, prior={"mon": 2.0}),
    }


def few_shots():
    X, wide = rows(), rows(130)
    taught = Moments.from_labels(X, DAYS)
    few = Moments.of({"a": wide[:9], "b": wide[9:20], "c": wide[20:29]})
    return {
        "few_shot": FewShotClassifier(taught, within_ridge=0.01).fit(X[:3], ["left", "right", "left"]),
        "few_shot without teachers": FewShotClassifier().fit(X[:30], DAYS[:30]),
        "few_shot of few rows": FewShotClassifier(few, between_ridge=0).fit(
            wide[-2:], np.array(["new", "old"], dtype=object)
        ),
        "few_shot that is not fitted": FewShotClassifier(taught),
    }


def _neural():
    small = {"n_components": 2, "n_hidden": 16, "epochs": 2, "random_state": 0}
    images = NeuralFocus("convolutional", image_shape=(3, 4), append="rows", **small).fit(rows(12), groups=DAYS)
    return {
        "neural focus": NeuralFocus(**small).fit(rows(), groups=DAYS),
        "neural focus of images": images,
        "neural focus that is not fitted": NeuralFocus(**small),
    }


def growing():
    """Return a focus after partial_fit, not solved yet."""
    X = rows()
    return (
        Focus()
        .partial_fit(X[:70], groups=DAYS[:70], batch_id="mon")
        .partial_fit(X[70:], groups=DAYS[70:], batch_id="tue")
    )


def solved(focus):
    focus.summary()
    return focus


def discriminative(**settings):
    return DiscriminativeDetector(window=20, stride=10, n_shuffles=2, random_state=0, progress=False, **settings)


def folded():
    """Return moments stored as matrices, with groups of different sizes."""
    import undistract.algebra.moments as store

    before, store.KEPT_VALUES = store.KEPT_VALUES, 0
    try:
        return Moments.from_labels(rows()[:-4], DAYS[:-4])
    finally:
        store.KEPT_VALUES = before


def sketched(seed=0, first=0):
    """Return a sketch that had to drop directions."""
    X = rows(12, seed)
    return SketchedMoments.of({first + day: X[day == DAYS] for day in range(8)}, size=4)


def arrays_of(item):
    """Return the results of an object on rows, as a list of arrays and plain values."""
    if isinstance(item, dict):
        return [value for part in item.values() for value in arrays_of(part)]
    if isinstance(item, Moments):
        more = Moments.of({"more": rows(item.n_features, seed=5)}, "uniform")
        return [item.names, *(value for m in (item, item + more) for value in (m.mean, m.within, m.between, m.total))]
    if isinstance(item, SketchedMoments):
        more = sketched(seed=5, first=100)
        sums = (item, item + more)
        return [
            item.names,
            *(value for m in sums for value in (m.mean, m.rows_within, m.rows_between, m.dropped, m.spread)),
        ]
    if isinstance(item, GroupMoments):
        joined = item + GroupMoments.of(rows(len(item.origin), seed=5))
        return [item.count, item.mean, item.scatter, joined.mean, joined.scatter]
    if isinstance(item, Spectrum):
        return [item.distraction, item.debiased, item.filters, item.patterns, item.total_share]
    if isinstance(item, Scores):
        return [item.name, item.values, item.times]
    if isinstance(item, Threshold):
        return [repr(item), item.p_values([0.1, 1.0, 3.0, np.nan, 9.0]), item.alarms([0.1, 9.0])]
    if not hasattr(item, "n_features_in_"):
        return [repr(item)]
    X = rows(item.n_features_in_, seed=3)
    if isinstance(item, Focus):
        Z = item.transform(X)
        narrow = item.transform(X.astype(np.float32))
        return [
            Z,
            narrow,
            item.inverse_transform(Z),
            item.denoise(X),
            str(item.summary()),
            item.get_feature_names_out(),
        ]
    if isinstance(item, NeuralFocus | KernelFocus):
        texts = [str(item.summary()), item.get_feature_names_out()]
        return [item.transform(X), item.transform(X.astype(np.float32)), *texts]
    if isinstance(item, FewShotClassifier):
        return [item.predict(X), item.predict_proba(X), item.classes_]
    watching = [item.predict(X), item.p_values(X)] if isinstance(item, FocusDetector) else []
    return [item.scores_, item.anomaly_score(X), *watching]


def same_bits(value, other):
    """Return True if two lists of arrays and values have the same bits and dtypes."""
    return len(value) == len(other) and all(map(_same, value, other))


def _same(value, other):
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype == other.dtype and value.shape == other.shape and value.tobytes() == other.tobytes()
    return type(value) is type(other) and bool(np.all(value == other))
