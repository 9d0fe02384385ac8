"""Pieces of a block are centred on their own means, whichever way takes them."""

from itertools import pairwise

import numpy as np
import pytest

from undistract import Focus, InputError, Moments
from undistract.algebra import centre as way


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 1, 300, 2), (40, 64)])
@pytest.mark.parametrize(("name", "spared"), [("short", 0), ("long", 0), ("compiled", 0), ("compiled", 1)])
def test_every_way_centres_alike(name, spared, sizes, dtype):
    if name == "compiled" and way.compiled() is None:
        pytest.skip("needs numba: pip install 'undistract[fast]'")
    nothing = np.empty((0, 3))
    compiled = lambda *a: way.compiled().centre(*a[:3], nothing, *a[4], spared)  # noqa: E731
    take = {"short": way._short, "long": way._long, "compiled": compiled}[name]
    rng = np.random.default_rng(0)
    source = (1e6 * (dtype != np.uint8) + 50 * rng.random((sum(sizes), 3))).astype(dtype)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    anchors = source[bounds[:-1]].astype(np.float64)
    rows = np.empty((len(source) - spared * len(sizes), 3))
    found = way.Centred(np.empty_like(anchors), np.empty_like(anchors))
    take(source, rows, bounds, anchors, found)
    wide = source.astype(np.longdouble)
    for place, (first, last) in enumerate(pairwise(bounds)):
        mean = wide[first:last].mean(axis=0)
        np.testing.assert_allclose(found.means[place], (mean - wide[first]).astype(float), atol=1e-12)
        away = (wide[first:last] - mean).astype(float)
        piece = rows[first - spared * place : last - spared * (place + 1)]
        if spared:
            assert len(piece) == last - first - 1
            np.testing.assert_allclose(piece.T @ piece, away.T @ away, rtol=1e-12, atol=1e-11)
        else:
            np.testing.assert_allclose(piece, away, atol=1e-12)
        np.testing.assert_allclose(found.squares[place], (away**2).sum(axis=0), rtol=1e-12, atol=1e-20)


def test_a_piece_that_began_in_another_block_is_read_from_there():
    rng = np.random.default_rng(3)
    long = rng.normal(size=(way.COMPILED_VALUES // 4, 4)) + 100  # enough for the compiled pass
    for source in (long, long[:6]):
        rows, out = np.empty(source.shape), np.empty((2, 4))
        pieces = way.Pieces(source, np.array([0, 2]), carried=np.full((1, 4), 98.0))
        found = way.centre(pieces, rows)
        parts = source[:2], source[2:]
        offsets = [parts[0].mean(axis=0) - 98, parts[1].mean(axis=0) - parts[1][0]]
        np.testing.assert_allclose(found.means, offsets, atol=1e-12)
        spread = way.sum_sets(pieces, found, np.array([1.0, 3.0]), np.full(4, 50.0), out)
        np.testing.assert_allclose(out, [part.mean(axis=0) - 50 for part in parts], atol=1e-11)
        norms = [np.linalg.norm(part - part.mean(axis=0), axis=0) for part in parts]
        np.testing.assert_allclose(spread, norms[0] + 3 * norms[1], rtol=1e-12)
        np.testing.assert_array_equal(pieces.last_anchor(), source[2:3])


@pytest.mark.parametrize("n_sets", [400, 9000], ids=["long sets", "short sets"])
@pytest.mark.parametrize("width", [16, 300])
def test_compiled_or_not_the_moments_are_the_same(width, n_sets, monkeypatch):
    pytest.importorskip("numba", reason="needs numba: pip install 'undistract[fast]'")
    rng = np.random.default_rng(1)
    sets = np.sort(rng.integers(0, n_sets, 40_000))
    X = rng.normal(size=(40_000, width)) + 1e3 * rng.normal(size=(n_sets, width))[sets]
    with_numba = Moments.of_labelled(X, sets)
    monkeypatch.setattr(way, "compiled", lambda: None)
    without = Moments.of_labelled(X, sets)
    for name in ("within", "between", "mean"):
        np.testing.assert_allclose(getattr(with_numba, name), getattr(without, name), rtol=1e-11, atol=1e-13)


def test_numba_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("UNDISTRACT_NUMBA", "0")
    assert way.compiled.__wrapped__() is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("n_rows", "width"), [(60, 3), (60, 200), (30_000, 80)], ids=["kept", "wide", "folded"])
def test_a_number_that_is_missing_shows_wherever_it_is(bad, n_rows, width):
    rng = np.random.default_rng(2)
    sets = np.arange(n_rows) * 20 // n_rows
    for place in (0, n_rows // 2, n_rows - 1):
        X = rng.normal(size=(n_rows, width))
        X[place, width // 2] = bad
        with pytest.raises(InputError, match=f"at row {place}, feature {width // 2}"):
            Moments.of_labelled(X, sets)
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            Focus().fit(X, sets=sets)


def test_where_compiled_passes_cannot_be_kept_they_are_compiled_each_time(monkeypatch):
    """A user whose home is read-only has no folder for them, and numba says so with a raw error."""
    numba = pytest.importorskip("numba", reason="needs numba: pip install 'undistract[fast]'")

    def without_a_folder(*args, cache=False, njit=numba.njit, **settings):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **settings)

    monkeypatch.setattr(numba, "njit", without_a_folder)
    passes, rows = way.compiled.__wrapped__(), np.empty((3, 1))
    means, squares = np.empty((2, 2, 1))
    source, bounds, nothing = np.array([[1.0], [3.0], [8.0]]), np.array([0, 2, 3]), np.empty((0, 1))
    passes.centre(source, rows, bounds, nothing, means, squares, 0)
    assert (rows.T.tolist(), means.T.tolist(), squares.T.tolist()) == ([[-1.0, 1.0, 0.0]], [[1.0, 0.0]], [[2.0, 0.0]])
    out, spread = np.empty((2, 1)), np.zeros(1)
    passes.sum_sets(source, bounds[:-1], nothing, means, squares, np.array([1.0, 5.0]), np.ones(1), out, spread)
    assert out.T.tolist() == [[1.0, 7.0]]
    assert spread == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize(("n_rows", "way_taken"), [(2 * way.LONG - 1, "_short"), (2 * way.LONG, "_long")])
def test_short_pieces_are_not_gone_through_one_by_one(n_rows, way_taken, monkeypatch):
    taken = []
    for name in ("_short", "_long"):
        monkeypatch.setattr(way, name, lambda *given, name=name: taken.append(name))
    way.centre(way.Pieces(np.ones((n_rows, 2)), np.array([0, 5]), np.empty((0, 2))), np.empty((n_rows, 2)))
    assert taken == [way_taken]


@pytest.mark.parametrize(
    ("n_rows", "n_features", "worth_while"),
    [
        (way.COMPILED_VALUES // 4, 4, True),
        (way.COMPILED_VALUES // 4 - 1, 4, False),
        (way.COMPILED_VALUES // way.COMPILED_FEATURES, way.COMPILED_FEATURES, True),
        (way.COMPILED_VALUES, way.COMPILED_FEATURES + 1, False),
    ],
)
def test_passes_are_compiled_for_full_blocks_of_narrow_rows(n_rows, n_features, worth_while, monkeypatch):
    monkeypatch.setattr(way, "compiled", lambda: "compiled")
    rows = np.broadcast_to(0.0, (n_rows, n_features))
    short, long = (way.Pieces(rows, starts, rows[:0]) for starts in (np.arange(0, n_rows, 2), np.zeros(1, dtype=int)))
    assert short.passes() == long.passes() == ("compiled" if worth_while else None)
    assert (short.spared, long.spared) == (int(worth_while), 0)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, ">f8", ">f4", ">i2"], ids=str)
@pytest.mark.parametrize("n_sets", [300, 90_000], ids=["long sets", "short sets"])
def test_many_rows_of_any_number_type_are_summed_up(n_sets, dtype):
    """Embeddings in half precision, and files with bytes in foreign order, ended in an error of the compiler."""
    rows = np.round(np.random.default_rng(0).normal(size=(300_000, 8)) * 10)
    labels = np.arange(len(rows)) % n_sets
    found, expected = (Moments.of_labelled(X, labels) for X in (rows.astype(dtype), rows))
    np.testing.assert_allclose(found.within, expected.within, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.between, expected.between, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
