"""What was learned, in words: every sentence as it is told, for spectra known by hand."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import Focus
from undistract.algebra import Projection, cut, describe
from undistract.algebra.cutoff import Cut

# λ .98, .96, .5 and .25; a fifth feature rests inside sets.
SPECTRUM = spectrum_of([98, 48, 1, 1, 0], [2, 2, 1, 3, 5])
SURE = "How sure: 199 directions can be told apart by 200 sets, 5 vary; a pure distractor would read about 0.990."


def lines(spectrum, decision, projection=None):
    return describe(spectrum, decision, projection).split("\n")


def test_what_goes_by_itself_is_told_with_shares_reasons_and_meaning():
    assert lines(SPECTRUM, cut(SPECTRUM)) == [
        "Learned from 200 sets with 20000 rows of 5 features.",
        "Removed: 2 of 5 directions, with 99% of the variation inside sets and 93% of all variation (kept_span).",
        "Why: distraction 0.960 to 0.980 (de-biased 0.960 or more) is at least 0.95, the automatic cut-off.",
        "That is: inside sets rows vary there at least 19 times as much as sets differ, with a cushion of 0 mean "
        "variances granted to the difference.",
        "Kept: 2 descriptive (the next reads 0.500), 1 constant, where any change is news.",
        SURE,
    ]


def test_one_direction_by_a_fixed_cutoff():
    told = lines(SPECTRUM, cut(SPECTRUM, cutoff=0.97))
    assert told[1].startswith("Removed: 1 of 5 directions, with 66% of the variation inside sets and 62% of all")
    assert told[2] == "Why: distraction 0.980 (de-biased 0.980) is at least 0.97, the cut-off asked for."
    assert told[3].startswith("That is: inside sets rows vary there at least 32.3 times as much")
    assert told[4] == "Kept: 3 descriptive (the next reads 0.960), 1 constant, where any change is news."


def test_a_cutoff_of_one_is_told_with_all_the_digits_there_are():
    told = lines(SPECTRUM, Cut(1, 1.0, "fixed", ()))
    assert told[3].startswith("That is: inside sets rows vary there at least 4.5e+15 times as much")


def test_a_number_that_was_asked_for_needs_no_reason():
    told = lines(SPECTRUM, cut(SPECTRUM, n_remove=4))
    assert told[1:4] == [
        "Removed: 4 of 5 directions, with 100% of the variation inside sets and 97% of all variation (kept_span).",
        "Why: n_remove asks for 4 directions.",
        "Kept: 0 descriptive, 1 constant, where any change is news.",
    ]
    assert lines(SPECTRUM, cut(SPECTRUM, n_remove=1))[2] == "Why: n_remove asks for 1 direction."


def test_nothing_goes():
    calm = spectrum_of([1, 1], [1, 3])
    told = lines(calm, cut(calm))
    assert told[1:4] == [
        "Removed: nothing.",
        "Why: the most distracting direction reads 0.500; the automatic cut-off is 0.95.",
        "Kept: 2 descriptive (the next reads 0.500), 0 constant, where any change is news.",
    ]
    resting = spectrum_of([0, 0], [1, 3])
    assert lines(resting, cut(resting))[2] == "Why: nothing varies; the automatic cut-off is 0.95."


def test_a_gap_is_told_with_the_direction_behind_it():
    apart = spectrum_of([93, 50, 1], [7, 50, 1])
    decision = cut(apart)
    assert (decision.n_removed, decision.cutoff) == (1, pytest.approx(0.93))
    assert lines(apart, decision)[2] == (
        "Why: distraction 0.930 (de-biased 0.930) is at least 0.93, where a gap shows that it stands apart from the "
        "next, 0.500."
    )


def test_several_are_spoken_of_as_several():
    apart = spectrum_of([94, 93, 50, 1], [6, 7, 50, 1])
    told = lines(apart, cut(apart))[2]
    assert told == (
        "Why: distraction 0.930 to 0.940 (de-biased 0.930 or more) is at least 0.93, where a gap shows that they stand "
        "apart from the next, 0.500."
    )
    taught = spectrum_of([98, 48, 1], [2, 2, 1], taught=np.array([1.0, 1.0, 0.0]))
    assert lines(taught, cut(taught))[2] == "Why: 2 directions because people called them familiar."


def test_a_cut_that_must_wait_says_so():
    told = lines(SPECTRUM, Cut(0, 1.0, "waiting", ("Give more rows.",)))
    assert told[1:3] == ["Removed: nothing.", "Why: the cut asked for is not possible yet."]
    assert told[-1] == "Caution: Give more rows."


def test_what_people_told_is_told_as_theirs():
    taught = spectrum_of([98, 48, 1], [2, 2, 1], taught=np.array([1.0, 0.0, 0.0]))
    told = lines(taught, cut(taught))
    assert told[2] == (
        "Why: 1 direction because people called it familiar, and 1 direction by what the sets showed (at least 0.95)."
    )
    assert told[3].startswith("That is:")
    alone = spectrum_of([98, 1, 1], [2, 2, 1], taught=np.array([1.0, 0.0, 0.0]))
    told = lines(alone, cut(alone))
    assert told[2] == "Why: 1 direction because people called it familiar."
    assert told[3].startswith("Kept:")  # no cut-off has a meaning here


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique"])
def test_the_way_of_removal_is_named(removal):
    decision = cut(SPECTRUM)
    assert lines(SPECTRUM, decision, Projection.of(SPECTRUM, 2, removal))[1].endswith(f"of all variation ({removal}).")


@pytest.mark.parametrize(
    ("n_removed", "strength", "words"),
    [
        (1, 99 / 0.98, "soft, strength 101.02: 0.1 of their length is left"),
        (2, 1000.0, "soft, strength 1000: 0.032 of their length is left"),
        (4, 10.0, "soft, strength 10: 0.3 to 0.53 of their length is left"),
        (1, "auto", "soft, strength auto: 0.01 of their length is left"),
    ],
)
def test_a_soft_removal_says_how_long_rows_still_are(n_removed, strength, words):
    soft = Projection.of(SPECTRUM, n_removed, "soft", strength)
    told = lines(SPECTRUM, cut(SPECTRUM, n_remove=n_removed), soft)[1]
    assert told.startswith(f"Shrunk: {n_removed} of 5 directions")
    assert told.endswith(f"({words}).")


@pytest.mark.filterwarnings("ignore::undistract.errors.EvidenceWarning")
@pytest.mark.parametrize("settings", [{}, {"cutoff": 0.5}, {"n_remove": 0}, {"n_remove": 3}], ids=str)
@pytest.mark.parametrize("size", [(8, 6, 200), (5, 100, 1200), (90, 9, 450)], ids=str)
def test_what_is_told_does_not_ask_for_all_directions(size, settings):
    """All directions of 500 rows with 100 000 features took ten seconds, to tell of those that go and of the next."""
    n_sets, n_rows, n_features = size
    rng = np.random.default_rng(0)
    inside = rng.normal(size=size) + 4 * rng.normal(size=(n_sets, n_rows, 3)) @ rng.normal(size=(3, n_features))
    inside[:, :, ::5] = 0.0  # these tell sets apart, and rest inside them
    focus = Focus(**settings).fit_sets(inside + 3 * rng.normal(size=(n_sets, 1, n_features)))
    assert not focus.spectrum_.is_whole
    words = focus.describe()
    assert not focus.spectrum_.is_whole
    assert words == describe(focus.whole_spectrum(), focus.cut_, focus.projection_)
    assert f"{focus.spectrum_.n_constant} constant" in words
