"""The few-shot benchmark: what is drawn, what is shown, and that no tested class has a say in the choice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh

pytest.importorskip("pandas")

from benchmarks.few_shot import page
from benchmarks.few_shot.distortions import DISTORTIONS, light, pen, slant
from benchmarks.few_shot.kernels import ALL_NAMES, PRODUCT_LIKELY, PRODUCT_NAP, in_kernel_space
from benchmarks.few_shot.methods import (
    AUGMENTED,
    COUNTED,
    LIKELY,
    LIKELY_PLDA,
    focus_graded,
    focus_likelihood,
    focus_weighted,
    rca_likelihood,
    two_views,
)
from benchmarks.few_shot.recognise import DISTANCES, SHOWN, accuracies, augmented, draws
from benchmarks.few_shot.run import COLUMNS, PARTS, measure
from benchmarks.few_shot.tasks import Task, tasks
from benchmarks.quality.methods import AUTOMATIC
from undistract import Moments, Spectrum
from undistract.sets.light import gradients

N_FEATURES = 36


@cache
def world() -> Task:
    """Draw thirty sets that teach and four classes that nobody taught, all under light; pixels of 6 × 6 images."""
    rng = np.random.default_rng(0)

    def under_light(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rows + 2 * rng.normal(size=(len(rows), 2)) @ gradients(6, 6)

    def some() -> np.ndarray:
        return under_light(rng.normal(size=N_FEATURES) + 0.3 * rng.normal(size=(12, N_FEATURES)), rng)

    taught = {f"set {number}": some() for number in range(30)}
    return Task("drawn", "drawn", 0, taught, {f"class {number}": some() for number in range(4)}, under_light)


def mean() -> np.ndarray:
    return np.asarray(Moments.of(world().taught).mean)


@cache
def results() -> list[dict[str, object]]:
    return [row for part in PARTS for row in measure(world(), part)]


@pytest.mark.parametrize("distort", DISTORTIONS.values(), ids=DISTORTIONS)
def test_a_distortion_changes_every_image_in_its_own_way_and_keeps_its_shape(distort):
    image = np.zeros((1, 12, 12), dtype=np.float32)
    image[0, 2:10, 5:8] = 1
    several = distort(np.repeat(image, 4, axis=0), np.random.default_rng(0))
    assert several.shape == (4, 12, 12)
    assert several.dtype == np.float32
    assert len(np.unique(several.reshape(4, -1), axis=0)) == 4


def test_a_slant_moves_ink_to_the_sides_and_loses_none():
    image = np.zeros((20, 13, 25), dtype=np.float32)
    image[:, :, 12] = 1
    slanted = slant(image, np.random.default_rng(0))
    np.testing.assert_allclose(slanted.sum(axis=2), 1, atol=1e-5)  # every row keeps its ink, in float32
    np.testing.assert_array_equal(slanted[:, 6], image[:, 6])  # the middle stays


def test_a_pen_only_touches_the_edges_of_a_stroke():
    image = np.zeros((20, 12, 12), dtype=np.float32)
    image[:, 2:10, 4:9] = 1
    drawn = pen(image, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, 4:8, 6], 1)
    np.testing.assert_array_equal(drawn[:, :, :3], 0)
    ink = drawn.sum(axis=(1, 2))
    assert ink.min() < image[0].sum() < ink.max()


def test_light_is_a_mix_of_two_gradients():
    dark = np.zeros((9, 6, 6), dtype=np.float32)
    rows = light(dark, np.random.default_rng(0)).reshape(9, -1)
    assert np.linalg.matrix_rank(rows, tol=1e-4) == 2  # of numbers near 1, in float32


def test_every_class_shows_as_many_examples_and_none_of_them_is_asked_for():
    owner = np.repeat(np.arange(4), 12)
    for shown in SHOWN:
        for drawn, others in draws(owner, shown):
            assert np.array_equal(np.bincount(owner[drawn]), np.full(4, shown))
            assert not set(drawn) & set(others)
            assert len(drawn) + len(others) == len(owner)


def test_what_is_held_out_does_not_teach_and_is_none_of_the_tested_classes():
    held_out = world().held_out()
    assert not set(held_out.taught) & set(held_out.classes)
    assert set(held_out.taught) | set(held_out.classes) == set(world().taught)
    assert len(held_out.classes) == 10


def test_rows_at_the_same_place_are_always_recognised():
    places = {str(one): np.eye(4)[[one] * 6] for one in range(4)}
    task = Task("easy", "easy", 0, world().taught, places)
    found = accuracies(task, lambda X: X, np.full(4, 0.25))
    assert set(found.values()) == {1.0}
    assert set(found) == {(distance, shown) for distance in DISTANCES for shown in SHOWN}


def test_copies_under_drawn_light_help_and_no_copies_are_no_change():
    plain = accuracies(world(), lambda X: X, mean())
    assert augmented(world(), 0, mean()) == pytest.approx(plain)
    assert augmented(world(), 20, mean())["Euclidean", 1] > plain["Euclidean", 1]


def test_without_a_way_to_draw_differences_inside_sets_are_added():
    shifts = {"a": np.array([[0.0, 5.0], [0.0, -5.0]]), "b": np.array([[0.0, 9.0], [0.0, 1.0]])}
    classes = {name: np.column_stack([np.full(30, x), np.linspace(-12, 12, 30)]) for name, x in (("l", -1), ("r", 1))}
    task = Task("drawn", "drawn", 0, shifts, classes)
    plain = accuracies(task, lambda X: X, np.zeros(2))["Euclidean", 1]
    assert augmented(task, 20, np.zeros(2))["Euclidean", 1] > plain + 0.1


def test_patterns_sum_up_to_what_varies_inside_sets_so_that_grading_by_distraction_would_be_rca():
    moments = Moments.of(world().taught)
    spectrum = Spectrum.of(moments, cushion=0.01)
    found = (spectrum.patterns * spectrum.distraction) @ spectrum.patterns.T
    np.testing.assert_allclose(found, moments.within, atol=1e-10)  # of numbers up to 10


def test_grading_shrinks_light_most_and_no_strength_changes_no_distance():
    moments = Moments.of(world().taught)
    right = gradients(6, 6)[:1] / np.linalg.norm(gradients(6, 6)[0])
    other = np.eye(N_FEATURES)[:1] - np.eye(N_FEATURES)[:1] @ gradients(6, 6).T @ np.linalg.pinv(gradients(6, 6).T)
    graded, untouched = (focus_graded(moments, 0.01, strength) for strength in (100.0, 0.0))
    np.testing.assert_allclose(np.linalg.norm(untouched(right)), 1)
    assert np.linalg.norm(graded(right)) < 0.05 < 0.1 < np.linalg.norm(graded(other)) / np.linalg.norm(other)


def test_weights_are_those_of_the_spectrum_s_readings():
    moments = Moments.of(world().taught)
    cushion, ridge, grain = 0.02, 0.1, float(np.trace(moments.total)) / N_FEATURES * np.eye(N_FEATURES)
    inside = moments.within + ridge * grain
    distraction, readings = eigh(inside, inside + moments.between + cushion * grain)
    readings /= np.sqrt(distraction)  # of length one in what varies inside sets
    wanted = (readings * (1 - distraction) / (2 - distraction)) @ readings.T
    rows = np.eye(N_FEATURES) + moments.mean
    found = focus_weighted(moments, cushion, ridge)(rows)
    np.testing.assert_allclose(found @ found.T, wanted, atol=1e-10 * np.abs(wanted).max())


def test_the_products_of_the_likelihood_are_those_of_the_weighted_readings():
    moments = Moments.of(world().taught)
    rows = np.concatenate(list(world().classes.values()))
    found = focus_likelihood(moments, 0.02, 0.1).change(rows, rows)
    readings = focus_weighted(moments, 0.02, 0.1)(rows)
    # What depends on the row alone, or on the example alone, is taken out.
    products, wanted = (
        one - one.mean(axis=0) - one.mean(axis=1, keepdims=True) + one.mean() for one in (found, readings @ readings.T)
    )
    np.testing.assert_allclose(products, wanted, atol=1e-10 * np.abs(wanted).max())


def test_a_likelihood_is_the_same_under_both_distances_and_its_control_knows_nothing_of_sets():
    moments = Moments.of(world().taught)
    likely, control = (learn(moments, 0.02, 0.1) for learn in (focus_likelihood, rca_likelihood))
    found = accuracies(world(), likely, mean())
    assert all(found["Euclidean", shown] == found["cosine", shown] for shown in SHOWN)
    assert found["cosine", 1] > accuracies(world(), lambda X: X, mean())["cosine", 1] + 0.15
    assert control.change.apart.shape == (N_FEATURES, 0)
    assert likely.change.apart.shape[1] == 29


def test_some_methods_can_be_measured_alone():
    rows = list(measure(world(), "report", methods=["raw", LIKELY_PLDA]))
    assert {row["method"] for row in rows} == {"raw", LIKELY_PLDA}


def test_both_views_have_the_length_they_are_given():
    moments = Moments.of(world().taught)
    learned = two_views(moments, 0.01, 2, 0.1, 0.25)
    assert learned is not None
    rows = learned(np.concatenate(list(world().classes.values())))
    n_kept = N_FEATURES - 2
    np.testing.assert_allclose(np.linalg.norm(rows[:, :n_kept], axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(rows[:, n_kept:], axis=1), 0.5)
    np.testing.assert_array_equal(learned(moments.mean[None]), 0)  # the middle is nowhere


def test_every_method_is_measured_and_removal_helps():
    rows = results()
    assert all(list(row) == COLUMNS for row in rows)
    reported = [row for row in rows if row["part"] == "report" and row["distance"] == "cosine"]
    best = {name: max(float(str(row["1"])) for row in reported if row["method"] == name) for name in ("raw", COUNTED)}
    # Counts of this small task go no further than 20 of 36; two views ask for 100.
    assert {row["method"] for row in reported} >= {"raw", AUGMENTED, "PCA drop-top", "NAP", "RCA", "LDA", COUNTED}
    assert best[COUNTED] > best["raw"] + 0.15


def test_a_setting_is_chosen_by_held_out_sets_and_never_by_the_tested_classes():
    pd = pytest.importorskip("pandas")
    place = {"data": "d", "task": "t", "seed": 0, "method": "NAP", "distance": "cosine", "n_removed": 1}
    told = {("choose", "k=1"): 0.9, ("choose", "k=2"): 0.1, ("report", "k=1"): 0.3, ("report", "k=2"): 0.8}
    rows = [
        place | {"part": part, "setting": setting} | dict.fromkeys(map(str, SHOWN), value)
        for (part, setting), value in told.items()
    ]
    frame = pd.DataFrame(rows)
    assert page.chosen(frame).to_numpy().tolist() == [[0.3] * len(SHOWN)]
    assert page.at_best(frame).to_numpy().tolist() == [[0.8] * len(SHOWN)]


def test_the_page_shows_what_the_results_say():
    text = (page.DOCS / "classification.md").read_text(encoding="utf-8")
    for name, table in page.tables(page.read(), page.read(page.FRESH)).items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text
    assert set(ALL_NAMES) == set(page.read().method)


def test_one_picture_of_a_stranger_is_worth_25_points_more_than_raw():
    found = page.chosen(page.read())["1"].groupby(["task", "distance", "method"]).mean()
    for distance in DISTANCES:
        yale = found["Yale", distance]
        assert yale[AUTOMATIC.name] > yale["raw"] + 0.25


@pytest.mark.parametrize("seeds", [range(5), range(5, 10), range(10, 15)], ids=["seen", "fresh", "fresher"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_product_recognises_strangers_better_than_every_baseline_at_its_best(seeds, distance):
    pd = pytest.importorskip("pandas")
    results = pd.concat([page.read(), page.read(page.FRESH)])
    results = results[results.seed.isin(seeds) & (results.task == "Yale") & (results.distance == distance)]
    mine, best = (one(results)["1"].groupby("method").mean() for one in (page.chosen, page.at_best))
    assert mine[PRODUCT_LIKELY] > best[page.BASELINES].max() + 0.05
    assert mine[PRODUCT_LIKELY] > mine[PRODUCT_NAP]
    assert mine[PRODUCT_LIKELY] > best["raw"] + 0.25


def test_the_likelihood_is_above_every_baseline_that_chooses_as_it_does():
    pd = pytest.importorskip("pandas")
    results = pd.concat([page.read(), page.read(page.FRESH)])
    mine = page.chosen(results[results.task == "Yale"])["1"].unstack("seed").dropna().mean(axis=1)
    for distance in DISTANCES:
        found = mine["Yale"].xs(distance, level="distance")
        assert found[LIKELY] > found[page.BASELINES].max()


def test_coordinates_in_the_space_of_a_kernel_have_its_products():
    there = in_kernel_space(world(), "polynomial")
    rows, found = (np.concatenate(list(some.taught.values())) for some in (world(), there))
    rows = rows - rows.mean(axis=0)
    products = (1 + rows @ rows.T / (rows**2).sum(axis=1).mean()) ** 3
    centring = np.eye(len(rows)) - 1 / len(rows)
    wanted = centring @ products @ centring
    np.testing.assert_allclose(found @ found.T, wanted, atol=1e-8 * np.abs(wanted).max())
    assert set(there.classes) == set(world().classes)


@pytest.mark.parametrize("kernel", ["FOCUS product", "NAP product"])
def test_in_the_space_of_a_product_what_distracts_alone_is_nothing(kernel):
    right = gradients(6, 6)[0]
    middle = np.concatenate(list(world().taught.values())).mean(axis=0)
    classes = {"light alone": np.stack([middle, middle + right, middle - right]), "more": middle + np.eye(N_FEATURES)}
    there = in_kernel_space(replace(world(), classes=classes), kernel)
    lengths = {
        name: np.linalg.norm(rows - there.classes["light alone"][0], axis=1) for name, rows in there.classes.items()
    }
    assert lengths["light alone"].max() < 0.2 * lengths["more"].mean()


def test_letters_teach_and_digits_are_asked_for(data):
    for task in tasks("EMNIST", 1):
        assert set(task.classes) == set("0123456789")
        assert len(task.taught) == 52
        break


def test_faces_of_a_person_teach_or_are_recognised(data):
    (pixels, logarithm) = tasks("Yale/2", 1)
    assert (len(pixels.taught), len(pixels.classes)) == (24, 14)
    assert not set(pixels.taught) & set(pixels.classes)
    assert set(pixels.taught) == set(logarithm.taught)
    rows = next(iter(pixels.classes.values()))
    assert rows.shape[1] == 24 * 21
