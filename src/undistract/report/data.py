"""The facts of a report: what was learned, the scores of groups, and the strongest alarms."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import prod
from platform import python_version
from typing import Any, Self

import numpy as np

from undistract._arrays import Floats, Rows
from undistract.algebra import FocusSummary, Selection, Spectrum
from undistract.detect.alarms import Alarm, find_alarms
from undistract.detect.base import Scores
from undistract.detect.explain import Explanation
from undistract.detect.thresholds import Threshold
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")


@dataclass(frozen=True, eq=False)
class ModelSummary:
    """The result of training. `ModelSummary.of` takes it from a fitted `Focus`.

    Parameters
    ----------
    spectrum : Spectrum
    selection : Selection
    summary : FocusSummary
    feature_names : tuple of str
    image_shape : tuple of int, optional
        Height and width (and colours) if rows are images.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> focus = Focus().fit_groups(rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10))
    >>> ModelSummary.of(focus).feature_names
    ('x0', 'x1', 'x2', 'x3')
    >>> ModelSummary.of(focus, image_shape=(3, 3))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: image_shape (3, 3) has 9 pixels, but a row has 4 features...
    """

    spectrum: Spectrum
    selection: Selection
    summary: FocusSummary
    feature_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        n_features = self.spectrum.n_features
        if len(self.feature_names) != n_features:
            raise InputError(f"feature_names has {len(self.feature_names)} names for {n_features} features.")
        check_image_shape(self.image_shape, n_features)

    def pattern(self, index: int) -> Floats:
        """Return the pattern of a direction, (d,), with a positive strongest feature; the sign is arbitrary."""
        pattern = self.spectrum.patterns[:, index]
        return -pattern if pattern[np.abs(pattern).argmax()] < 0 else pattern

    @classmethod
    def of(
        cls, focus: Focus, *, feature_names: Sequence[str] | None = None, image_shape: tuple[int, ...] | None = None
    ) -> Self:
        """Return the facts of a fitted `Focus`. Feature names default to its own, or to x0, x1, …."""
        summary = focus.summary(feature_names)  # raises an error if it is not fitted
        names = feature_names
        if names is None:
            names = getattr(focus, "feature_names_in_", None)
        if names is None:
            names = [f"x{index}" for index in range(focus.n_features_in_)]
        return cls(focus.full_spectrum(), focus.selection_, summary, tuple(map(str, names)), image_shape)


@dataclass(frozen=True, eq=False)
class ScoreRun:
    """The scores of some groups, the threshold, and the alarms.

    Examples
    --------
    >>> run = ScoreRun.of([Scores("monday", [1, 9, 1]), Scores("tuesday", [1, 1, 7])], 5.0)
    >>> [(alarm.name, alarm.peak) for alarm in run.alarms]
    [('monday', 1), ('tuesday', 2)]
    """

    scores: tuple[Scores, ...]
    threshold: Threshold | float | None = None
    alarms: tuple[Alarm, ...] = ()  # of all groups, the strongest first

    @classmethod
    def of(cls, scores: Iterable[Scores], threshold: Threshold | float | None = None, *, gap: int = 0) -> Self:
        """Find the alarms of each group; those at most `gap` rows apart are joined."""
        scores = tuple(scores)
        alarms: list[Alarm] = []
        if threshold is not None:
            for group in scores:
                alarms += find_alarms(group, threshold, gap=gap)
        return cls(scores, threshold, tuple(sorted(alarms, key=lambda alarm: -alarm.score)))

    @property
    def value(self) -> float | None:
        """The threshold as a number; infinite if a single row cannot alarm."""
        return self.threshold.value if isinstance(self.threshold, Threshold) else self.threshold

    @property
    def n_scored(self) -> int:
        """The number of scored rows."""
        return sum(int((~np.isnan(group.values)).sum()) for group in self.scores)

    @property
    def n_over(self) -> int:
        """The number of rows over the threshold, without rows that only fill a gap in an alarm."""
        if self.threshold is None:
            return 0
        n_rows = 0
        for group in self.scores:
            if np.isnan(group.values).all():
                continue
            if isinstance(self.threshold, Threshold):
                n_rows += int(self.threshold.alarms(group).sum())
            else:
                n_rows += int((group.values > self.threshold).sum())
        return n_rows

    def alarms_of(self, name: Hashable) -> list[Alarm]:
        """Return the alarms of one group, the strongest first."""
        return [alarm for alarm in self.alarms if alarm.name == name]


@dataclass(frozen=True, eq=False)
class CaptionedImage:
    """An image with a caption: grey values, colours, or signed differences."""

    caption: str
    pixels: Rows  # (height, width) or (height, width, 3)
    limits: tuple[float, float] | None = None
    signed: bool = False


@dataclass(frozen=True, eq=False)
class AlarmDetail:
    """One alarm with its images and its explanation."""

    alarm: Alarm
    pictures: tuple[CaptionedImage, ...] = ()
    explanation: Explanation | None = None


def versions() -> dict[str, str]:
    """Return the versions of the package, Python and the main libraries."""
    names = {"undistract": __version__, "Python": python_version()}
    for library in LIBRARIES:
        try:
            names[library] = version(library)
        except PackageNotFoundError:
            continue
    return names


@dataclass(frozen=True, eq=False)
class Report:
    """All facts of one page. Missing parts are left out.

    Parameters
    ----------
    title : str
    model : ModelSummary, optional
        What was learned and removed.
    before, after : ScoreRun, optional
        The scores of the original rows, and of the rows without nuisance variation.
    examples : tuple of tuples of CaptionedImage
        A few images before and after; `image_pictures` makes one of the tuples.
    details : tuple of AlarmDetail
        The alarms of `after` to show in detail, the strongest first.
    image_shape : tuple of int, optional
        If features are pixels, explanations are drawn as images; by default that of `model`.
    settings, sources, versions : mappings
        Settings, the source of each group by its name, and versions of libraries.

    Examples
    --------
    >>> Report("Camera 3", after=ScoreRun.of([Scores("monday", [1, 9, 1])], 5.0)).after.n_over
    1
    """

    title: str
    model: ModelSummary | None = None
    before: ScoreRun | None = None
    after: ScoreRun | None = None
    examples: tuple[tuple[CaptionedImage, ...], ...] = ()
    details: tuple[AlarmDetail, ...] = ()
    image_shape: tuple[int, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[Any, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        for detail in self.details:
            if detail.explanation is not None:
                check_image_shape(self.shape, len(detail.explanation.contributions))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of a row, if rows are images."""
        if self.image_shape is None and self.model is not None:
            return self.model.image_shape
        return self.image_shape

    @property
    def runs(self) -> dict[str, ScoreRun]:
        """The available runs by name: before, after."""
        runs = {"before": self.before, "after": self.after}
        return {name: run for name, run in runs.items() if run is not None}


def image_pictures(before: Rows, after: Rows) -> tuple[CaptionedImage, ...]:
    """Return an image, its denoised version, and the difference of both, with captions.

    Parameters
    ----------
    before, after : (height, width) or (height, width, colours) arrays
        They are drawn with the same contrast. The denoised image may be darker (or brighter) than the original; its
        brightness scale is shifted then.

    Examples
    --------
    >>> [image.caption for image in image_pictures(np.eye(2), np.zeros((2, 2)))]
    ['original', 'cleaned', 'removed']
    """
    taken = before.astype(np.float64) - after
    if taken.ndim == 3:
        taken = taken.mean(axis=2)
    low, high = float(before.min()), float(before.max())
    darkest, brightest = float(after.min()), float(after.max())
    limits = low, high
    if darkest < low:
        limits = darkest, max(darkest + (high - low), brightest)
    elif brightest > high:
        limits = min(brightest - (high - low), darkest), brightest
    return (
        CaptionedImage("original", before, (low, high)),
        CaptionedImage("cleaned", after, limits),
        CaptionedImage("removed", taken, signed=True),
    )


def check_image_shape(shape: tuple[int, ...] | None, n_features: int) -> None:
    """Raise an error if a row does not have this shape."""
    if shape is not None and (len(shape) not in (2, 3) or prod(shape) != n_features):
        raise InputError(
            f"image_shape {tuple(shape)} has {prod(shape)} pixels, but a row has {n_features} features. "
            "Pass (height, width) or (height, width, colours) of the images."
        )


def as_image(row: Floats, shape: tuple[int, ...]) -> Floats:
    """Reshape a row to an image (height, width); colours are averaged."""
    image = row.reshape(shape)
    return image.mean(axis=2) if image.ndim == 3 else image
