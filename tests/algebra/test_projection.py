"""Projections of spectra known by hand; the laws are in tests/laws/test_projection_laws.py."""

import numpy as np
import pytest

from tests.algebra.by_hand import spectrum_of
from undistract import InputError, Moments, Spectrum
from undistract.algebra import Projection
from undistract.algebra.projection import Complement

# The first feature is the most distracting, then the second; the third is constant within groups.
SPECTRUM = spectrum_of([98, 3, 0], [2, 1, 5], origin=[10.0, 20.0, 30.0])
ROW = np.array([[13.0, 24.0, 35.0]])


@pytest.mark.parametrize(
    ("removal", "n_removed", "coordinates"),
    [
        ("orthogonal", 0, [13, 24, 35]),
        ("orthogonal", 1, [24, 35]),
        ("orthogonal", 2, [35]),
        ("eigen", 1, [24, 35]),  # filters of unit length read the features themselves
        ("oblique", 1, [10, 24, 35]),
        ("oblique", 2, [10, 20, 35]),
    ],
)
def test_coordinates_after_removal(removal, n_removed, coordinates):
    projection = Projection.of(SPECTRUM, n_removed, removal)
    np.testing.assert_allclose(np.abs(projection(ROW)), [coordinates], rtol=1e-12)
    assert projection.n_out == len(coordinates)
    clean = np.where(np.arange(3) < n_removed, SPECTRUM.origin, ROW)
    np.testing.assert_allclose(projection.denoise(ROW), clean, rtol=1e-12)
    np.testing.assert_allclose(projection.distracting(ROW), ROW - clean, atol=1e-12)
    visible_part = np.where(np.arange(3) < n_removed, 0.0, ROW)
    np.testing.assert_allclose(projection.kept_part(ROW), visible_part, rtol=1e-12, atol=1e-12)


def test_soft_removal_shrinks_by_the_root_of_its_strength():
    soft = Projection.of(SPECTRUM, 1, "soft", strength=8 / 0.98)  # 1 + γ λ = 9
    np.testing.assert_allclose(soft(ROW), [[11.0, 24.0, 35.0]], rtol=1e-12)
    np.testing.assert_allclose(soft.denoise(ROW), soft(ROW))
    assert soft.n_out == 3
    np.testing.assert_allclose(soft.inverse(soft(ROW)), ROW, rtol=1e-12)
    np.testing.assert_allclose(soft.kept_part(ROW - SPECTRUM.origin), [[1.0, 4.0, 5.0]], rtol=1e-12)
    np.testing.assert_allclose(soft.embed(np.array([[1.0, 4.0, 5.0]])), [[3.0, 4.0, 5.0]], rtol=1e-12)
    np.testing.assert_allclose(soft.pullback(np.array([[3.0, 4.0, 5.0]])), [[1.0, 4.0, 5.0]], rtol=1e-12)
    nothing = Projection.of(SPECTRUM, 0, "soft", strength=8.0)
    rows = nothing(ROW)
    assert rows.tolist() == ROW.tolist()
    assert rows is not ROW


@pytest.mark.parametrize(("removal", "strength"), [("soft", 7.0), ("soft", "auto"), ("oblique", "auto"), ("eigen", 0)])
def test_like_creates_the_same_kind_from_another_spectrum(removal, strength):
    other = spectrum_of([48, 1, 3], [2, 1, 5])
    similar = type(Projection.of(SPECTRUM, 1, removal, strength)).from_spectrum(other, 2, strength)
    expected = Projection.of(other, 2, removal, strength)
    assert (type(similar), getattr(similar, "strength", None)) == (type(expected), getattr(expected, "strength", None))
    np.testing.assert_array_equal(similar(ROW), expected(ROW))


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique", "soft"])
def test_ignored_share_refers_to_the_squared_length(removal):
    projection = Projection.of(SPECTRUM, 1, removal)
    deviations = np.array([[3.0, 4.0, 0.0], [5.0, 0.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 2.0]])
    expected = [9 / 25, 1.0, 0.0, 0.0, 1 / 6]
    for scale in (1.0, 1e-100, 1e150, 1e300):  # a share has no normalize_columns
        np.testing.assert_allclose(projection.ignored_share(scale * deviations), expected, rtol=1e-12, atol=1e-15)
    lengths = np.array([1e300, 1.0, 1e-3, 0.0, 1e160])[:, None]
    np.testing.assert_allclose(projection.ignored_share(lengths * deviations), expected, rtol=1e-12, atol=1e-15)
    assert projection.ignored_share(np.zeros((0, 3))).shape == (0,)
    single = deviations.astype(np.float32)  # regression: the bound overflows single precision
    np.testing.assert_allclose(projection.ignored_share(single), expected, atol=1e-5)


def test_ignored_share_is_the_same_in_single_precision():
    """Regression: float32 rows raised a cast warning, and beyond 1e19 the share was NaN."""
    projection = Projection.of(SPECTRUM, 1, "orthogonal")
    deviations = np.array([[3.0, 4.0, 0.0], [0.0, 2.0, 2.0], [1.0, 1.0, 2.0]], dtype=np.float32)
    for scale in (1.0, 1e30, 1e-30):
        share = projection.ignored_share(np.float32(scale) * deviations)
        np.testing.assert_allclose(share, [9 / 25, 0.0, 1 / 6], rtol=1e-6)


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique", "soft"])
@pytest.mark.parametrize("n_removed", [0, 2])
def test_pulled_back_filter_gives_the_same_reading(removal, n_removed):
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=5) + rng.normal(size=(9, 5)) @ rng.normal(size=(5, 5)) for _ in range(8)]
    projection = Projection.of(Spectrum.of(Moments.of(groups)), n_removed, removal, 7.0)
    Z = projection(groups[0])
    G = rng.normal(size=Z.shape)
    expected = (G * Z).sum(axis=1)
    np.testing.assert_allclose((projection.pullback(G) * projection.embed(Z)).sum(axis=1), expected, rtol=1e-10)


def test_invalid_removal_is_an_error():
    with pytest.raises(InputError, match="3 directions cannot be removed: 2 of 3 vary within groups"):
        Projection.of(SPECTRUM, 3)
    with pytest.raises(InputError, match="-1 directions cannot be removed"):
        Projection.of(SPECTRUM, -1)
    for removal in ("cut", None, ["eigen"]):
        with pytest.raises(InputError, match=r"removal must be one of 'orthogonal', 'eigen', 'oblique', 'soft', got"):
            Projection.of(SPECTRUM, 1, removal)
    for removal in ("soft", "orthogonal"):
        with pytest.raises(InputError, match=r"strength must be .* got -1"):
            Projection.of(SPECTRUM, 1, removal, -1)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 5])
def test_complement_is_orthonormal_and_orthogonal_to_the_columns(n_columns):
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
def test_basis_is_formed_only_for_many_columns(n_columns, is_wide):
    """With many columns the basis is cheaper, and cached per dtype; with few columns it would be huge."""
    plane = Complement.of(np.random.default_rng(0).normal(size=(10, n_columns)))
    plane.rows(plane.coordinates(np.ones((2, 10))))
    plane.coordinates(np.ones((2, 10), dtype=np.float32))
    assert list(plane._bases) == (["float64", "float32"] if is_wide else [])


@pytest.mark.parametrize("scale", [1e140, 1e-140])  # the limits of the supported range
def test_length_of_a_column_does_not_matter(scale):
    columns = np.random.default_rng(0).normal(size=(5, 2))
    plain, scaled = Complement.of(columns), Complement.of(columns * [1.0, scale])
    np.testing.assert_allclose(scaled.basis, plain.basis, atol=1e-14)


def test_complement_drops_the_first_of_equal_features():
    """If columns move features equally, the first one has no coordinate of its own."""
    assert Complement.of(np.ones((4, 1))).features.tolist() == [1, 2, 3]
    assert Complement.of(np.array([[1e9], [1.0], [0.0]])).features.tolist() == [1, 2]
    assert Complement.of(np.array([[1.0], [1e9], [0.0]])).features.tolist() == [0, 2]


@pytest.mark.parametrize("removal", ["orthogonal", "eigen", "oblique", "soft"])
def test_projection_stores_the_removed_directions(removal):
    spectrum = spectrum_of([98, 48, 1], [2, 2, 5], ridge=0.5, heterogeneity=np.array([0.1, 0.2, 0.3]))
    removed = Projection.of(spectrum, 2, removal).removed
    np.testing.assert_array_equal(removed.filters, spectrum.filters[:, :2])
    np.testing.assert_array_equal(removed.patterns, spectrum.patterns[:, :2])
    assert removed.heterogeneity.tolist() == [0.1, 0.2]
