"""The part of a report about what was learned: what goes, how sure that is, and what it looks like."""

from __future__ import annotations

import numpy as np

from undistract.report.bars import bars_figure
from undistract.report.contents import Learned, Shown, as_image
from undistract.report.html import Html, element, joined, number, pairs, section, table
from undistract.report.pictures import picture, plot
from undistract.report.plots import draw_spectrum, new_figure

N_IMAGES, N_BAR_CHARTS, N_FEATURES = 12, 6, 12


def learned_section(learned: Learned) -> Html:
    """Tell what was removed and how sure that is; cautions stand first."""
    lines = learned.words.splitlines()
    cautions = [line for line in lines if line.startswith("Caution: ")]
    told = dict(line.split(": ", 1) for line in lines if ": " in line and line not in cautions)
    return section(
        "What was removed, and how sure that is",
        *(element("p", caution, class_="caution") for caution in cautions),
        *(element("p", line) for line in lines if ": " not in line),
        pairs(told),
        *([_spectrum(learned), _directions(learned)] if len(learned.spectrum.distraction) else []),
    )


def patterns_section(learned: Learned) -> Html:
    """Show what the removed directions look like: as images, or as the features that move."""
    n_removed = learned.cut.n_removed
    if n_removed == 0:
        return Html("")
    patterns = learned.spectrum.patterns[:, :n_removed].T  # (r, d)
    strongest = np.take_along_axis(patterns, np.abs(patterns).argmax(axis=1)[:, None], axis=1)
    patterns = patterns * np.where(
        strongest < 0, -1.0, 1.0
    )  # a pattern's sign is arbitrary: its strongest part is amber
    as_pictures = learned.image_shape is not None
    drawn = patterns[: N_IMAGES if as_pictures else N_BAR_CHARTS]
    names = [_name(learned, place) for place in range(len(drawn))]
    which = "Each" if len(drawn) == n_removed else f"The first {len(drawn)} of {n_removed}, each"
    how = (
        f"{which} as one typical step along it, on a scale of its own. Amber and blue move against each other; which "
        "of them rises makes no difference."
    )
    if learned.image_shape is not None:
        shape = learned.image_shape
        shown = [picture(as_image(one, shape), name, signed=True) for one, name in zip(drawn, names, strict=True)]
        body = element("div", *shown, class_="pictures")
    else:
        how += f" The {N_FEATURES} features that move most are named." if patterns.shape[1] > N_FEATURES else ""
        figures = [bars_figure(one, learned.feature_names, n_shown=N_FEATURES) for one in drawn]
        body = element("div", *(plot(one, name) for one, name in zip(figures, names, strict=True)), class_="beside")
    return section("What it looks like", element("p", how), body)


def examples_section(examples: tuple[tuple[Shown, ...], ...]) -> Html:
    """Show some images before and after."""
    if not examples:
        return Html("")
    rows = [element("div", *map(shown_picture, one), class_="pictures") for one in examples[:N_IMAGES]]
    return section("What it does to images", element("div", *rows, class_="beside"))


def shown_picture(one: Shown) -> Html:
    """Put one image with its caption into the page."""
    return picture(one.pixels, one.caption, limits=one.limits, signed=one.signed)


def _name(learned: Learned, place: int) -> str:
    return f"direction {place + 1}, distraction {learned.spectrum.distraction[place]:.3f}"


def _spectrum(learned: Learned) -> Html:
    spectrum, cut = learned.spectrum, learned.cut
    evidence = spectrum.evidence
    distraction = np.pad(spectrum.distraction, (0, spectrum.n_features - len(spectrum.distraction)))
    n_shown = min(len(distraction), cut.n_removed + max(40, cut.n_removed // 2))
    low, high = evidence.noise_edges
    known = (low, high) != (0.0, 1.0)
    figure = new_figure(9, 3.4)
    draw_spectrum(
        figure.add_axes((0.08, 0.12, 0.9, 0.86)),
        distraction,
        n_removed=cut.n_removed,
        cutoff=cut.cutoff,
        n_shown=n_shown,
        noise_edges=(low, high) if known else None,
        pure_distractor=evidence.pure_distractor,
    )
    noise = (
        f"Blue band: where pure noise of as many sets, rows and directions would read, {low:.3f} to {high:.3f}. "
        if known
        else "There are too few rows to say between which values pure noise would read. "
    )
    return plot(
        figure,
        f"{noise}Blue mark: what a pure distractor would read, {evidence.pure_distractor:.3f}. Both are without a "
        "cushion, which lowers every reading and most of all those of directions that barely vary.",
        says="How distracting each direction is, the cut-off, and where pure noise would read",
    )


def _directions(learned: Learned) -> Html:
    """List the removed directions and the first that stays."""
    spectrum, n_removed = learned.spectrum, learned.cut.n_removed
    inside, all_of_it = spectrum.variation_inside, spectrum.variation
    places = [*range(min(n_removed, N_IMAGES)), *([n_removed] if n_removed < spectrum.n_moving else [])]
    rows = [
        [
            place + 1,
            "removed" if place < n_removed else "kept",
            number(f"{spectrum.distraction[place]:.3f}"),
            number(f"{spectrum.debiased[place]:.3f}"),
            number(f"{inside[place]:.1%}"),
            number(f"{all_of_it[place]:.1%}"),
        ]
        for place in places
    ]
    header = ["direction", "", "distraction", "de-biased", "of the variation inside sets", "of all variation"]
    n_more = n_removed - min(n_removed, N_IMAGES)
    more = [element("p", f"Removed too: {n_more} more.", class_="faint")] if n_more else []
    return joined([table(header, rows), *more])
