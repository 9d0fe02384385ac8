"""The figures of section 3.2, for one seed: training images, test images, score tracks, the spectrum."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paper.common import number, save
from paper.illuminated_silhouettes import SETTINGS, fitted
from paper.silhouette_results import CUSHIONS
from undistract import Focus, Moments, NearestDetector, Spectrum
from undistract._arrays import Floats
from undistract.datasets.silhouettes import make_illuminated_silhouettes
from undistract.detect.metrics import quality
from undistract.report.figures import (
    AMBER,
    BLUE,
    DASHED,
    FAINT,
    GREY,
    INK,
    LABEL_SIZE,
    draw_images,
    draw_title,
    new_figure,
    tidy,
)

# Light reaches beyond paper (0) and ink (1); all images share this scale, so that before and after can be compared.
BRIGHTNESS = (-0.5, 1.5)
ROWS = ("before", "paper's\nsetting", "ours")
N_SHOWN = 5


def training_images(learned: dict[str, Focus], under_light: Any) -> Figure:
    """Draw images of the groups the paper shows, and the same after each setting, back in pixel space."""
    figure = new_figure(12, 2.55)
    grid = figure.add_gridspec(1, 3, left=0.075, right=0.99, top=0.88, bottom=0.0, wspace=0.06)
    groups = {one.name: one.rows for one in under_light.training}
    for place, name in enumerate(("0", "1", "flamingo")):
        axes = figure.add_subplot(grid[0, place])
        rows = groups[name][:N_SHOWN]
        draw_before_and_after(axes, learned, rows, labels=place == 0)
        axes.set_title(name, loc="left", fontsize=LABEL_SIZE + 1, color=INK, fontweight="bold", pad=6)
    return figure


def test_images(learned: dict[str, Focus], under_light: Any) -> Figure:
    """Draw test images of each kind, before and after."""
    figure = new_figure(12, 2.0)
    grid = figure.add_gridspec(1, 4, left=0.075, right=0.99, top=0.85, bottom=0.0, wspace=0.08)
    anomaly, is_lit = under_light.is_anomaly, under_light.is_lit
    kinds = {
        "plain face": (~anomaly & ~is_lit, GREY),
        "face under light": (~anomaly & is_lit, AMBER),
        "sunflower": (anomaly & ~is_lit, BLUE),
        "sunflower under light": (anomaly & is_lit, BLUE),
    }
    for place, (words, (members, colours)) in enumerate(kinds.items()):
        axes = figure.add_subplot(grid[0, place])
        draw_before_and_after(axes, learned, under_light.test[members][:N_SHOWN], labels=place == 0)
        axes.set_title(words, loc="left", fontsize=LABEL_SIZE + 1, color=colours[1], fontweight="bold", pad=6)
    return figure


def draw_before_and_after(axes: Any, learned: dict[str, Focus], rows: Floats, *, labels: bool) -> None:
    """Draw rows of images: as they are, and through each setting."""
    after = [focus.inverse_transform(focus.transform(rows)) for focus in learned.values()]
    images = np.concatenate([rows, *after]).reshape(-1, 28, 28)
    draw_images(axes, images, n_columns=len(rows), limits=BRIGHTNESS, row_labels=ROWS if labels else ())


def score_tracks(learned: dict[str, Focus], under_light: Any) -> Figure:
    """Draw the score of every test image in its order, before and after, the true anomalies marked."""
    figure = new_figure(12, 6.2)
    tracks = {"Before": under_light.test} | {
        f"After, {words}": learned[setting].transform(under_light.test)
        for setting, words in {"paper": "paper's setting", "ours": "ours"}.items()
    }
    kinds = (
        ("plain face", ~under_light.is_anomaly & ~under_light.is_lit, GREY),
        ("face under light", ~under_light.is_anomaly & under_light.is_lit, AMBER),
        ("sunflower", under_light.is_anomaly, BLUE),
    )
    for place, (words, X) in enumerate(tracks.items()):
        axes = figure.add_subplot(len(tracks), 1, place + 1)
        scores = NearestDetector(n_neighbors=10).fit(X).scores_
        for label, members, colours in kinds:
            axes.bar(np.flatnonzero(members), scores[members], width=1.0, color=colours[0], label=label)
        found = np.flatnonzero(under_light.is_anomaly)
        axes.plot(found, np.full(len(found), -0.07 * scores.max()), "^", color=BLUE[0], markersize=5)
        reached = quality(scores, under_light.is_anomaly).average_precision
        draw_title(axes, f"{words}: average precision {number(reached, 2)}")
        axes.set(xlim=(-1, len(X)), ylim=(-0.13 * scores.max(), 1.05 * scores.max()), xticks=[], yticks=[])
        axes.set_ylabel("distance to\nthe 10 nearest", fontsize=LABEL_SIZE - 1, color=INK)
        tidy(axes)
    figure.axes[0].legend(frameon=False, fontsize=LABEL_SIZE, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    figure.axes[-1].set_xlabel("test images in their order", fontsize=LABEL_SIZE, color=INK)
    figure.subplots_adjust(left=0.06, right=0.99, top=0.93, bottom=0.05, hspace=0.42)
    return figure


def spectrum_at_cushions(moments: Moments) -> Figure:
    """Draw 1 - λ of the leading directions at each ridge, with what pure noise would read without one."""
    figure = new_figure(12, 3.9)
    grid = figure.add_gridspec(1, len(CUSHIONS), left=0.07, right=0.99, top=0.8, bottom=0.15, wspace=0.1)
    for place, ridge in enumerate(CUSHIONS):
        axes = figure.add_subplot(grid[0, place])
        spectrum = Spectrum.of(moments, ridge=ridge)
        below_one = 1 - spectrum.distraction[:200]
        axes.plot(np.arange(3, 201), below_one[2:], ".", color=GREY[1], markersize=3)
        axes.plot([1, 2], below_one[:2], "o", color=AMBER[0], markersize=7)
        for value, words in ((1e-3, "paper's .999"), (0.05, "λ = .95")):
            axes.axhline(value, color=INK, linewidth=1, linestyle=DASHED)
            axes.text(205, value * 0.93, words, ha="right", va="bottom", fontsize=LABEL_SIZE - 2, color=INK)
        axes.axhspan(
            *sorted(1 - edge for edge in spectrum.evidence.noise_edges), color=BLUE[0], alpha=0.12, linewidth=0
        )
        axes.set(yscale="log", ylim=(1, 2e-5), xlim=(-4, 206))
        if place:
            axes.set_yticklabels([])
        else:
            axes.set_ylabel("1 - λ, the most distracting on top", fontsize=LABEL_SIZE, color=INK)
            axes.text(205, 5.5e-3, "pure noise, without a ridge", ha="right", fontsize=LABEL_SIZE - 2, color=BLUE[1])
        draw_title(axes, f"ridge {ridge:g}")
        tidy(axes)
    figure.text(
        0.07, 0.93, "The first two directions (amber) stand apart only with a healthy ridge.", fontsize=14, color=INK
    )
    figure.text(0.53, 0.03, "the 200 most distracting directions", ha="center", fontsize=LABEL_SIZE, color=FAINT)
    return figure


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the images; without it they are downloaded")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    under_light = make_illuminated_silhouettes(data=options.data, seed=options.seed)
    moments = Moments.of(under_light.training)
    learned = {setting: fitted(focus, moments) for setting, focus in SETTINGS.items()}
    save(training_images(learned, under_light), "training_images")
    save(test_images(learned, under_light), "test_images")
    save(score_tracks(learned, under_light), "score_tracks")
    save(spectrum_at_cushions(moments), "spectrum")


if __name__ == "__main__":
    main()
