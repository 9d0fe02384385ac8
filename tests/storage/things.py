"""One of everything that can be saved, and what it does: the same before and after."""

import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.frozen import FrozenEstimator

from undistract import (
    AlarmBudget,
    Conformal,
    DiscriminativeDetector,
    EvidenceWarning,
    Focus,
    FocusDetector,
    KernelFocus,
    Moments,
    MostSets,
    NearestDetector,
    NeuralFocus,
    Quantile,
    Recogniser,
    RidgeMahalanobis,
    Scores,
    SetMoments,
    SketchedMoments,
    SparseCombinationDetector,
    Spectrum,
    Tail,
    Threshold,
)
from undistract.detect import DensityRatioDetector

DAYS = np.repeat(np.arange(8), 15)


def rows(n_features=5, seed=0):
    """Eight days of fifteen rows: the first feature tells days apart, the second wobbles."""
    X = np.random.default_rng(seed).normal(size=(len(DAYS), n_features)) * ([1, 9] + [1] * (n_features - 2))
    X[:, 0] += 3 * DAYS
    return X


def focus(**settings):
    return Focus(**{"n_remove": 1} | settings).fit(rows(), sets=DAYS)


def calm():
    return [*np.random.default_rng(1).exponential(size=(20, 40))]


def things():
    """A dictionary from names to one thing each; all are small, and fitted with fixed seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # they are small on purpose
        return _things() | (_neural() if find_spec("torch") else {})


def _things():
    X, wide = rows(), rows(130)
    moments = Moments.of_labelled(X, DAYS)
    return {
        "moments": moments,
        "folded moments": folded(),
        "wide moments": Moments.of({"a": wide[:9], "b": wide[9:20]}),
        "sketched moments": sketched(),
        "focus of a sketch": Focus(n_remove=1).fit_moments(sketched()),
        "set moments": SetMoments.of(X),
        "wide set moments": SetMoments.of(wide[:20]),
        "spectrum": Spectrum.of(moments),
        **{f"focus, {removal}": focus(removal=removal) for removal in ("kept_span", "eigen", "oblique", "soft")},
        "focus, soft at a strength": focus(removal="soft", strength=25.0),
        "focus that removes nothing": focus(n_remove=0),
        "focus of wide rows": Focus(n_remove=2, removal="eigen").fit_moments(
            Moments.of({"a": wide[:9], "b": wide[9:20]})
        ),
        "growing focus": asked(growing()),
        "waiting focus": growing(),
        "focus that waits again": growing().close_sets([0, 1]).partial_fit(X[-5:], sets=["new"] * 5),
        "unfitted focus": Focus(cutoff=0.9, prior={"mon": 2.0}),
        **_kernels(),
        **recognisers(),
        "nearest": NearestDetector(n_neighbors=3, how="kth").fit(X),
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
        "conformal row by row": Conformal(0.3, whole_sets=False)(calm()),
        "most sets": MostSets(0.05)(calm()),
        "tail": Tail(0.001)(calm()),
        "budget": AlarmBudget(5, rows_per_day=100, gap=2)(calm()),
        "rule": Tail(0.001),
        "watch": FocusDetector(focus(), NearestDetector(n_neighbors=2), Quantile(0.05)).fit(X, sets=DAYS),
        "watch that adapts": FocusDetector(Focus(n_remove=1), adapt=True).fit(X, sets=DAYS),
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
        "kernel focus": KernelFocus(**settings).fit(X, sets=DAYS),
        "kernel focus, softly": KernelFocus("poly", removal="soft", **settings).fit(X, sets=DAYS),
        "kernel focus, precomputed": KernelFocus("precomputed", **settings).fit(X @ X.T, sets=DAYS),
        "kernel focus by waves": KernelFocus(approx="fourier", **settings).fit(X, sets=DAYS),
        "kernel focus that waits": streamed.partial_fit(X, sets=DAYS, key="mon"),
        "kernel focus that is not fitted": KernelFocus(gamma=0.5, prior={"mon": 2.0}),
    }


def recognisers():
    X, wide = rows(), rows(130)
    taught = Moments.of_labelled(X, DAYS)
    few = Moments.of({"a": wide[:9], "b": wide[9:20], "c": wide[20:29]})
    return {
        "recogniser": Recogniser(taught, ridge=0.01).fit(X[:3], ["left", "right", "left"]),
        "recogniser without teachers": Recogniser().fit(X[:30], DAYS[:30]),
        "recogniser of few rows": Recogniser(few, cushion=0).fit(wide[-2:], np.array(["new", "old"], dtype=object)),
        "recogniser that is not fitted": Recogniser(taught),
    }


def _neural():
    small = {"n_components": 2, "n_hidden": 16, "epochs": 2, "random_state": 0}
    images = NeuralFocus("convolutional", image_shape=(3, 4), beside="rows", **small).fit(rows(12), sets=DAYS)
    return {
        "neural focus": NeuralFocus(**small).fit(rows(), sets=DAYS),
        "neural focus of images": images,
        "neural focus that is not fitted": NeuralFocus(**small),
    }


def growing():
    """A focus that was fed in pieces, and not asked yet."""
    X = rows()
    return Focus().partial_fit(X[:70], sets=DAYS[:70], key="mon").partial_fit(X[70:], sets=DAYS[70:], key="tue")


def asked(focus):
    focus.describe()
    return focus


def discriminative(**settings):
    return DiscriminativeDetector(window=20, stride=10, n_shuffles=2, random_state=0, progress=False, **settings)


def folded():
    """Moments whose rows were folded into matrices, with sets of different sizes."""
    import undistract.algebra.store as store

    before, store.KEPT_VALUES = store.KEPT_VALUES, 0
    try:
        return Moments.of_labelled(rows()[:-4], DAYS[:-4])
    finally:
        store.KEPT_VALUES = before


def sketched(seed=0, first=0):
    """A sketch that had to drop something."""
    X = rows(12, seed)
    return SketchedMoments.of({first + day: X[day == DAYS] for day in range(8)}, size=4)


def arrays_of(thing):
    """What a thing does to rows, and all that it shows: a list of arrays and plain values."""
    if isinstance(thing, dict):
        return [one for value in thing.values() for one in arrays_of(value)]
    if isinstance(thing, Moments):
        more = Moments.of({"more": rows(thing.n_features, seed=5)}, "uniform")
        return [thing.names, *(one for m in (thing, thing + more) for one in (m.mean, m.within, m.between, m.total))]
    if isinstance(thing, SketchedMoments):
        more = sketched(seed=5, first=100)
        sums = (thing, thing + more)
        return [thing.names, *(one for m in sums for one in (m.mean, m.rows_inside, m.rows_apart, m.dropped, m.spread))]
    if isinstance(thing, SetMoments):
        joined = thing + SetMoments.of(rows(len(thing.origin), seed=5))
        return [thing.count, thing.mean, thing.scatter, joined.mean, joined.scatter]
    if isinstance(thing, Spectrum):
        return [thing.distraction, thing.debiased, thing.filters, thing.patterns, thing.variation]
    if isinstance(thing, Scores):
        return [thing.name, thing.values, thing.times]
    if isinstance(thing, Threshold):
        return [repr(thing), thing.p_values([0.1, 1.0, 3.0, np.nan, 9.0]), thing.alarms([0.1, 9.0])]
    if not hasattr(thing, "n_features_in_"):
        return [repr(thing)]
    X = rows(thing.n_features_in_, seed=3)
    if isinstance(thing, Focus):
        Z = thing.transform(X)
        narrow = thing.transform(X.astype(np.float32))
        return [
            Z,
            narrow,
            thing.inverse_transform(Z),
            thing.denoise(X),
            thing.describe(),
            thing.get_feature_names_out(),
        ]
    if isinstance(thing, NeuralFocus | KernelFocus):
        told = [thing.describe(), thing.get_feature_names_out()]
        return [thing.transform(X), thing.transform(X.astype(np.float32)), *told]
    if isinstance(thing, Recogniser):
        return [thing.predict(X), thing.predict_proba(X), thing.classes_]
    watching = [thing.predict(X), thing.p_values(X)] if isinstance(thing, FocusDetector) else []
    return [thing.scores_, thing.anomaly_score(X), *watching]


def same_bits(one, other):
    """Whether two lists of arrays and values hold the same bits, in the same dtypes."""
    return len(one) == len(other) and all(map(_same, one, other))


def _same(one, other):
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and bool(np.all(one == other))
