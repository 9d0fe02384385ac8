"""Projections of spectra known by hand; the laws are in tests/laws/test_projection_laws.py."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError, Moments, Spectrum
from undistract.algebra import Projection
from undistract.algebra.complement import Complement
from undistract.algebra.projection import KeptSpan

# The first feature distracts most, then the second; the third rests inside sets.
SPECTRUM = spectrum_of([98, 3, 0], [2, 1, 5], origin=[10.0, 20.0, 30.0])
ROW = np.array([[13.0, 24.0, 35.0]])


@pytest.mark.parametrize(
    ("removal", "n_removed", "coordinates"),
    [
        ("kept_span", 0, [13, 24, 35]),
        ("kept_span", 1, [24, 35]),
        ("kept_span", 2, [35]),
        ("eigen", 1, [24, 35]),  # filters of length one read the features themselves
        ("oblique", 1, [10, 24, 35]),
        ("oblique", 2, [10, 20, 35]),
    ],
)
def test_what_is_left_of_a_row(removal, n_removed, coordinates):
    projection = Projection.of(SPECTRUM, n_removed, removal)
    np.testing.assert_allclose(np.abs(projection(ROW)), [coordinates], rtol=1e-12)
    assert projection.n_out == len(coordinates)
    clean = np.where(np.arange(3) < n_removed, SPECTRUM.origin, ROW)
    np.testing.assert_allclose(projection.clean(ROW), clean, rtol=1e-12)
    np.testing.assert_allclose(projection.distracting(ROW), ROW - clean, atol=1e-12)
    seen = np.where(np.arange(3) < n_removed, 0.0, ROW)
    np.testing.assert_allclose(projection.visible(ROW), seen, rtol=1e-12, atol=1e-12)


def test_a_soft_removal_shrinks_what_deviates_by_the_root_of_its_strength():
    soft = Projection.of(SPECTRUM, 1, "soft", strength=8 / 0.98)  # 1 + γ λ = 9
    np.testing.assert_allclose(soft(ROW), [[11.0, 24.0, 35.0]], rtol=1e-12)
    np.testing.assert_allclose(soft.clean(ROW), soft(ROW))
    assert soft.n_out == 3
    np.testing.assert_allclose(soft.back(soft(ROW)), ROW, rtol=1e-12)
    np.testing.assert_allclose(soft.visible(ROW - SPECTRUM.origin), [[1.0, 4.0, 5.0]], rtol=1e-12)
    np.testing.assert_allclose(soft.lift(np.array([[1.0, 4.0, 5.0]])), [[3.0, 4.0, 5.0]], rtol=1e-12)
    np.testing.assert_allclose(soft.pull(np.array([[3.0, 4.0, 5.0]])), [[1.0, 4.0, 5.0]], rtol=1e-12)
    nothing = Projection.of(SPECTRUM, 0, "soft", strength=8.0)
    rows = nothing(ROW)
    assert rows.tolist() == ROW.tolist()
    assert rows is not ROW


@pytest.mark.parametrize(("removal", "strength"), [("soft", 7.0), ("soft", "auto"), ("oblique", "auto"), ("eigen", 0)])
def test_the_same_kind_can_be_made_of_another_spectrum(removal, strength):
    other = spectrum_of([48, 1, 3], [2, 1, 5])
    found = Projection.of(SPECTRUM, 1, removal, strength).like(other, 2)
    expected = Projection.of(other, 2, removal, strength)
    assert (type(found), getattr(found, "strength", None)) == (type(expected), getattr(expected, "strength", None))
    np.testing.assert_array_equal(found(ROW), expected(ROW))


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique", "soft"])
def test_the_share_that_is_ignored_is_of_the_squared_length(removal):
    projection = Projection.of(SPECTRUM, 1, removal)
    deviations = np.array([[3.0, 4.0, 0.0], [5.0, 0.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 2.0]])
    expected = [9 / 25, 1.0, 0.0, 0.0, 1 / 6]
    for scale in (1.0, 1e-100, 1e150, 1e300):  # a share has no unit
        np.testing.assert_allclose(projection.ignored_share(scale * deviations), expected, rtol=1e-12, atol=1e-15)
    lengths = np.array([1e300, 1.0, 1e-3, 0.0, 1e160])[:, None]
    np.testing.assert_allclose(projection.ignored_share(lengths * deviations), expected, rtol=1e-12, atol=1e-15)
    assert projection.ignored_share(np.zeros((0, 3))).shape == (0,)
    single = deviations.astype(np.float32)  # numpy warned: the bound is beyond single precision
    np.testing.assert_allclose(projection.ignored_share(single), expected, atol=1e-5)


def test_the_share_that_is_ignored_is_the_same_in_single_precision():
    """Any float32 rows raised numpy's warning about a cast, and beyond 1e19 the share was not a number."""
    projection = Projection.of(SPECTRUM, 1, "kept_span")
    deviations = np.array([[3.0, 4.0, 0.0], [0.0, 2.0, 2.0], [1.0, 1.0, 2.0]], dtype=np.float32)
    for scale in (1.0, 1e30, 1e-30):
        found = projection.ignored_share(np.float32(scale) * deviations)
        np.testing.assert_allclose(found, [9 / 25, 0.0, 1 / 6], rtol=1e-6)


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique", "soft"])
@pytest.mark.parametrize("n_removed", [0, 2])
def test_a_filter_on_projected_rows_reads_the_same_on_rows(removal, n_removed):
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=5) + rng.normal(size=(9, 5)) @ rng.normal(size=(5, 5)) for _ in range(8)]
    projection = Projection.of(Spectrum.of(Moments.of(sets)), n_removed, removal, 7.0)
    Z = projection(sets[0])
    G = rng.normal(size=Z.shape)
    expected = (G * Z).sum(axis=1)
    np.testing.assert_allclose((projection.pull(G) * projection.lift(Z)).sum(axis=1), expected, rtol=1e-10)


def test_what_was_made_before_is_put_together_as_it_was():
    made = Projection.of(SPECTRUM, 1)
    again = KeptSpan.made(made.origin, made.removed, made.complement)
    assert again.complement is made.complement
    np.testing.assert_array_equal(again.clean(ROW), made.clean(ROW))
    np.testing.assert_array_equal(again.patterns, made.patterns)


def test_what_cannot_be_removed_is_refused():
    with pytest.raises(InputError, match="3 directions cannot be removed: 2 of 3 vary inside sets"):
        Projection.of(SPECTRUM, 3)
    with pytest.raises(InputError, match="-1 directions cannot be removed"):
        Projection.of(SPECTRUM, -1)
    for removal in ("cut", None, ["eigen"]):
        with pytest.raises(InputError, match=r"removal is .* expected one of 'kept_span', 'eigen', 'oblique', 'soft'"):
            Projection.of(SPECTRUM, 1, removal)
    for removal in ("soft", "kept_span"):
        with pytest.raises(InputError, match="strength is -1"):
            Projection.of(SPECTRUM, 1, removal, -1)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 5])
def test_a_complement_reads_and_gives_back_what_the_columns_leave(n_columns):
    columns = np.random.default_rng(0).normal(size=(5, n_columns))
    plane = Complement.of(columns)
    X = np.random.default_rng(1).normal(size=(1300, 5))
    assert plane.basis.shape == (5 - n_columns, 5)
    np.testing.assert_allclose(plane.basis @ plane.basis.T, np.eye(5 - n_columns), atol=1e-14)
    np.testing.assert_allclose(plane.basis @ columns, 0.0, atol=1e-14)
    np.testing.assert_allclose(plane.coordinates(X), X @ plane.basis.T, atol=1e-13)
    Z = plane.coordinates(X)
    np.testing.assert_allclose(plane.rows(Z), Z @ plane.basis, atol=1e-13)
    assert plane.coordinates(X.astype(np.float32)).dtype == plane.rows(Z.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(plane.coordinates(X.astype(np.float32)), Z, atol=1e-5)


@pytest.mark.parametrize(("n_columns", "is_wide"), [(3, False), (4, True)])
def test_few_columns_are_taken_out_without_forming_the_basis(n_columns, is_wide):
    """With many columns it is cheaper, and made once for each kind of number; with few it can be huge."""
    plane = Complement.of(np.random.default_rng(0).normal(size=(10, n_columns)))
    plane.rows(plane.coordinates(np.ones((2, 10))))
    plane.coordinates(np.ones((2, 10), dtype=np.float32))
    assert list(plane._made) == (["float64", "float32"] if is_wide else [])


@pytest.mark.parametrize("scale", [1e140, 1e-140])  # as far as rows may go
def test_how_long_a_column_is_does_not_matter(scale):
    columns = np.random.default_rng(0).normal(size=(5, 2))
    one, other = Complement.of(columns), Complement.of(columns * [1.0, scale])
    np.testing.assert_allclose(other.basis, one.basis, atol=1e-14)


def test_a_complement_of_equal_parts_leaves_the_last_features():
    """Where columns move features equally, the first of them gives way."""
    assert Complement.of(np.ones((4, 1))).features.tolist() == [1, 2, 3]
    assert Complement.of(np.array([[1e9], [1.0], [0.0]])).features.tolist() == [1, 2]
    assert Complement.of(np.array([[1.0], [1e9], [0.0]])).features.tolist() == [0, 2]


@pytest.mark.parametrize("removal", ["kept_span", "eigen", "oblique", "soft"])
def test_a_projection_knows_the_directions_that_it_removes(removal):
    spectrum = spectrum_of([98, 48, 1], [2, 2, 5], cushion=0.5, unevenness=np.array([0.1, 0.2, 0.3]))
    removed = Projection.of(spectrum, 2, removal).removed
    np.testing.assert_array_equal(removed.filters, spectrum.filters[:, :2])
    np.testing.assert_array_equal(removed.patterns, spectrum.patterns[:, :2])
    assert removed.unevenness.tolist() == [0.1, 0.2]
