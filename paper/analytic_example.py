"""Section 3.1: the example with a known answer, x ~ N((3m, 1, -1), diag(4, 1, 0)), and a mixed copy beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from paper.common import complement_of_filters, number, publish, save
from undistract import Focus, Moments, Source, Spectrum
from undistract._arrays import Floats
from undistract.algebra import Projection
from undistract.datasets.synthetic import analytic_example, mix_features
from undistract.report.figures import AMBER, BLUE, FAINT, GREY, INK, LABEL_SIZE, draw_title, new_figure

SEEDS = range(200)
DEFAULT_RIDGE = 1e-8
READINGS = ("orthogonal complement", "eigen", "oblique", "complement of filters")


@cache
def spectra(deviation: float = 2.0) -> list[Spectrum]:
    """Solve the example for every seed, with another standard deviation of the first feature if need be."""
    return [Spectrum.of(Moments.of(example(seed, deviation)), ridge=DEFAULT_RIDGE) for seed in SEEDS]


def example(seed: int, deviation: float = 2.0) -> list[Source]:
    """Draw the ten groups."""
    centres = [np.array([3.0 * m, 1.0, -1.0]) for m in range(1, 11)]
    return [
        Source(one.name, centre + (one.rows - centre) * [deviation / 2.0, 1.0, 1.0])
        for centre, one in zip(centres, analytic_example(seed=seed), strict=True)
    ]


def readings(spectrum: Spectrum) -> dict[str, Callable[[Floats], Floats]]:
    """Give the ways to read "remove the first eigenvector"; the last is not in the library, because it is wrong."""
    kept, eigen, oblique = (Projection.of(spectrum, 1, removal) for removal in ("orthogonal", "eigen", "oblique"))
    return dict(
        zip(READINGS, (kept, eigen, oblique, lambda X: complement_of_filters(X, spectrum.filters[:, :1])), strict=True)
    )


@cache
def movement_left() -> Floats:
    """How much of the distractor's movement survives: (axis-aligned or mixed, reading, seed)."""
    left = np.zeros((2, len(READINGS), len(SEEDS)))
    for seed in SEEDS:
        for copy, mixing in enumerate((np.eye(3), np.random.default_rng([seed, 1]).normal(size=(3, 3)))):
            spectrum = Spectrum.of(Moments.of(mix_features(analytic_example(seed=seed), mixing)), ridge=DEFAULT_RIDGE)
            moves = mixing[None, :, 1] / np.linalg.norm(mixing[:, 1])  # where rows go when the distractor grows
            for place, read in enumerate(readings(spectrum).values()):
                left[copy, place, seed] = np.linalg.norm(read(moves) - read(0 * moves))
    return left


def mixed_error(seed: int) -> float:
    """How far the eigenvalues of a mixed copy lie from those of the plain one, without a ridge."""
    mixing = np.random.default_rng([seed, 1]).normal(size=(3, 3))
    groups = analytic_example(seed=seed)
    plain, turned = (
        Spectrum.of(Moments.of(some), ridge=0).distraction[:2] for some in (groups, mix_features(groups, mixing))
    )
    return float(np.abs(plain - turned).max())


def measures() -> dict[str, float | list[float]]:
    """Measure the claims of the section."""
    found = np.array([[*one.distraction[:2], 0.0] for one in spectra()])
    filters = np.array([np.abs(one.filters / np.linalg.norm(one.filters, axis=0)) for one in spectra()])
    if_variance = np.array([one.distraction[1] for one in spectra(np.sqrt(2.0))])
    automatic = [Focus().fit_groups(analytic_example(seed=seed)).n_removed_ for seed in SEEDS[:20]]
    kept = np.mean([np.linalg.norm(Projection.of(one, 1).kept_basis, axis=0) for one in spectra()], axis=0)
    left = movement_left().mean(axis=-1)
    return {
        "distraction": found.mean(axis=0).tolist(),
        "distraction_when_mixed": float(np.max([mixed_error(seed) for seed in SEEDS[:20]])),
        "distraction_from_to": [found[:, 0].min(), found[:, 0].max()],
        "filters_along_axes": [filters[:, 1, 0].min(), filters[:, 0, 1].min()],
        "descriptive_if_2_is_a_variance": float(if_variance.mean()),
        "share_of_seeds_from_999": float((found[:, 0] >= 0.999).mean()),
        "debiased_median": float(np.median([one.debiased[0] for one in spectra()])),
        "automatic_removes": float(np.mean(automatic)),
        "kept_of_each_feature": kept.tolist(),
        "kept_of_the_constant": float(kept[2]),
        "orthogonal_left_when_mixed": float(left[1, 0]),
        "complement_left_when_mixed": float(left[1, 3]),
        "left_axis_aligned": left[0].tolist(),
        "left_mixed": left[1].tolist(),
    }


def tables() -> None:
    """Print the eigenvalues and the readings, and put them into the README."""
    found = measures()
    values = np.ravel(found["distraction"])
    low, high = np.ravel(found["distraction_from_to"])
    reach = (
        f"from {number(low, 4)} to {number(high, 4)}; {found['share_of_seeds_from_999']:.1%} of the draws reach .999"
    )
    as_variance = f"{number(found['descriptive_if_2_is_a_variance'])} if the printed 2 were a variance"
    publish(
        "analytic example",
        ["feature", "what it is", "λ in the paper", "λ, mean of 200 draws", "remark"],
        [
            ["e₂", "distracting", ".99", number(values[0]), reach],
            ["e₁", "descriptive", ".05", number(values[1]), as_variance],
            ["e₃", "constant", "0", number(values[2], 0), "no reading touches it"],
        ],
    )
    left = movement_left()
    publish(
        "readings on the example",
        ["reading", "axis-aligned", "mixed, mean", "mixed, worst of 200"],
        [
            [name, number(left[0, place].mean()), number(left[1, place].mean()), number(left[1, place].max())]
            for place, name in enumerate(READINGS)
        ],
    )


def picture() -> None:
    """Draw five groups as the paper does, beside the same groups without the distracting direction."""
    groups = analytic_example(n_groups=5)
    focus = Focus(n_remove=1, ridge=DEFAULT_RIDGE).fit_groups(analytic_example())
    figure = new_figure(11, 4.6)
    tints = [GREY[0], BLUE[0], AMBER[0], BLUE[1], AMBER[1]]
    for place, title in enumerate(("Five groups of the example", "The same, with the distracting direction gone")):
        axes = figure.add_subplot(1, 2, place + 1, projection="3d")
        for one, tint in zip(groups, tints, strict=True):
            rows = focus.inverse_transform(focus.transform(one.rows)) if place else one.rows
            axes.scatter(*rows.T, s=7, color=tint, depthshade=False, label=one.name)
        axes.set(xlim=(-3, 21), ylim=(-3, 5), zlim=(-2, 0), zticks=[-2, -1, 0])
        axes.set_xlabel("descriptive", fontsize=LABEL_SIZE, color=INK)
        axes.set_ylabel("distracting", fontsize=LABEL_SIZE, color=INK)
        axes.set_zlabel("constant", fontsize=LABEL_SIZE, color=INK)
        axes.tick_params(colors=FAINT, labelsize=9)
        axes.view_init(elev=24, azim=-62)
        draw_title(axes, title)
    figure.axes[0].legend(frameon=False, fontsize=10, loc="upper left", markerscale=2)
    figure.subplots_adjust(left=0.01, right=0.96, bottom=0.06, top=0.92, wspace=0.08)
    save(figure, "analytic_example")


if __name__ == "__main__":
    tables()
    picture()
