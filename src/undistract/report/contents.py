"""What a report tells, as values: what was learned, how sets were scored, and what was found."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from math import prod
from platform import python_version
from typing import Any, Self

import numpy as np

from undistract.algebra import Cut, Spectrum
from undistract.arrays import Floats, Rows
from undistract.detect.alarms import Alarm, find_alarms
from undistract.detect.explain import Explanation
from undistract.detect.scores import Scores
from undistract.detect.thresholds import Threshold
from undistract.errors import InputError
from undistract.focus import Focus
from undistract.version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from sets. `Learned.of` takes it from a fitted `Focus`.

    Parameters
    ----------
    spectrum : Spectrum
    cut : Cut
    words : str
        What `Focus.describe` says.
    feature_names : tuple of str
    image_shape : tuple of int, optional
        Height and width (and colours) of a row that is an image.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> focus = Focus().fit_sets(rng.normal([m, 0, 0, 0], [1, 9, 1, 1], size=(50, 4)) for m in range(10))
    >>> Learned.of(focus).feature_names
    ('x0', 'x1', 'x2', 'x3')
    >>> Learned.of(focus, image_shape=(3, 3))
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: image_shape (3, 3) has 9 pixels, but a row has 4 features...
    """

    spectrum: Spectrum
    cut: Cut
    words: str
    feature_names: tuple[str, ...]
    image_shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        n_features = self.spectrum.n_features
        if len(self.feature_names) != n_features:
            raise InputError(f"feature_names has {len(self.feature_names)} names for {n_features} features.")
        check_image_shape(self.image_shape, n_features)

    @classmethod
    def of(
        cls, focus: Focus, *, feature_names: Sequence[str] | None = None, image_shape: tuple[int, ...] | None = None
    ) -> Self:
        """Take what a fitted `Focus` learned; features are called as it knows them, or x0, x1, …."""
        words = focus.describe()  # also asks whether it is fitted
        known = feature_names if feature_names is not None else getattr(focus, "feature_names_in_", None)
        names = known if known is not None else [f"x{place}" for place in range(focus.n_features_in_)]
        return cls(focus.whole_spectrum(), focus.cut_, words, tuple(map(str, names)), image_shape)


@dataclass(frozen=True, eq=False)
class Run:
    """One way of scoring sets: the scores, the threshold, and what alarmed.

    Examples
    --------
    >>> run = Run.of([Scores("monday", [1, 9, 1]), Scores("tuesday", [1, 1, 7])], 5.0)
    >>> [(alarm.name, alarm.peak) for alarm in run.alarms]
    [('monday', 1), ('tuesday', 2)]
    """

    scores: tuple[Scores, ...]
    threshold: Threshold | float | None = None
    alarms: tuple[Alarm, ...] = ()  # of all sets, the strongest first

    @classmethod
    def of(cls, scores: Iterable[Scores], threshold: Threshold | float | None = None, *, gap: int = 0) -> Self:
        """Find the alarms of each set, joined over at most `gap` rows."""
        every = tuple(scores)
        found = [] if threshold is None else [alarm for one in every for alarm in find_alarms(one, threshold, gap=gap)]
        return cls(every, threshold, tuple(sorted(found, key=lambda alarm: -alarm.score)))

    @property
    def value(self) -> float | None:
        """From which score on a row alarms; infinite where no lone row can."""
        return self.threshold.value if isinstance(self.threshold, Threshold) else self.threshold

    @property
    def n_scored(self) -> int:
        """How many rows were scored."""
        return sum(int((~np.isnan(one.values)).sum()) for one in self.scores)

    @property
    def n_over(self) -> int:
        """How many rows alarm, without those that only lie between two that do."""
        if self.threshold is None:
            return 0
        judged = self.threshold
        told = [one for one in self.scores if not np.isnan(one.values).all()]
        over = (judged.alarms(one) if isinstance(judged, Threshold) else one.values > judged for one in told)
        return sum(int(rows.sum()) for rows in over)

    def alarms_of(self, name: Hashable) -> list[Alarm]:
        """Return the alarms of one set, the strongest first."""
        return [alarm for alarm in self.alarms if alarm.name == name]


@dataclass(frozen=True, eq=False)
class Shown:
    """An image with its caption: grey or colours, or differences around zero."""

    caption: str
    pixels: Rows  # (height, width) or (height, width, 3)
    limits: tuple[float, float] | None = None
    signed: bool = False


@dataclass(frozen=True, eq=False)
class Finding:
    """An alarm that is looked at closely: its pictures, and why it came."""

    alarm: Alarm
    pictures: tuple[Shown, ...] = ()
    explanation: Explanation | None = None


def versions() -> dict[str, str]:
    """Say which versions are at work.

    Examples
    --------
    >>> list(versions())[:2]
    ['undistract', 'Python']
    """
    found = {"undistract": __version__, "Python": python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that one page tells; parts that are not there are left out.

    Parameters
    ----------
    title : str
    learned : Learned, optional
        What was removed.
    before, after : Run, optional
        The sets scored as they are, and without what distracts.
    examples : tuple of tuples of Shown
        A few images before and after, to see what is taken out; `image_pictures` makes one of them.
    findings : tuple of Finding
        The alarms of `after` to look at closely, the strongest first.
    image_shape : tuple of int, optional
        Where features are pixels, explanations are drawn as images too; by default that of `learned`.
    settings, sources, versions : mappings
        How it was made, from what (a set's name → where it came from), and with what.

    Examples
    --------
    >>> Report("Camera 3", after=Run.of([Scores("monday", [1, 9, 1])], 5.0)).after.n_over
    1
    """

    title: str
    learned: Learned | None = None
    before: Run | None = None
    after: Run | None = None
    examples: tuple[tuple[Shown, ...], ...] = ()
    findings: tuple[Finding, ...] = ()
    image_shape: tuple[int, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[Any, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        for finding in self.findings:
            if finding.explanation is not None:
                check_image_shape(self.shape, len(finding.explanation.contributions))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of a row that is an image."""
        return self.image_shape or (self.learned.image_shape if self.learned else None)

    @property
    def runs(self) -> dict[str, Run]:
        """The runs that are there, by what they are called."""
        both = {"before": self.before, "after": self.after}
        return {name: run for name, run in both.items() if run is not None}


def image_pictures(before: Rows, after: Rows) -> tuple[Shown, ...]:
    """Show an image, the same without what distracts, and what was taken out of it.

    Parameters
    ----------
    before, after : (height, width) or (height, width, colours) arrays
        With the same contrast. Where light is taken out, what remains may be darker than all that there was: its scale
        of brightness then begins lower.

    Examples
    --------
    >>> [one.caption for one in image_pictures(np.eye(2), np.zeros((2, 2)))]
    ['as it is', 'without what distracts', 'what was taken out']
    """
    taken = before.astype(np.float64) - after
    low, high = float(before.min()), float(before.max())
    darkest, brightest = float(after.min()), float(after.max())
    limits = low, high
    if darkest < low:
        limits = darkest, max(darkest + (high - low), brightest)
    elif brightest > high:
        limits = min(brightest - (high - low), darkest), brightest
    return (
        Shown("as it is", before, (low, high)),
        Shown("without what distracts", after, limits),
        Shown("what was taken out", taken if taken.ndim == 2 else taken.mean(axis=2), signed=True),
    )


def check_image_shape(shape: tuple[int, ...] | None, n_features: int) -> None:
    """Refuse a shape that a row does not have."""
    if shape is not None and (len(shape) not in (2, 3) or prod(shape) != n_features):
        raise InputError(
            f"image_shape {tuple(shape)} has {prod(shape)} pixels, but a row has {n_features} features. "
            "Give (height, width) or (height, width, colours) of the images that became rows."
        )


def as_image(row: Floats, shape: tuple[int, ...]) -> Floats:
    """Lay a row out as an image around zero, (height, width); colours are averaged."""
    image = row.reshape(shape)
    return image if image.ndim == 2 else image.mean(axis=2)
