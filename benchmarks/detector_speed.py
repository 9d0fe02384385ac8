"""Time one shuffle of the discriminative detector against the same fits by scikit-learn's liblinear.

    python benchmarks/detector_speed.py [--rows 2000] [--features 64] [--window 100] [--stride 50]

One process, one BLAS thread, interleaved rounds, the smallest CPU time of each. The bias is a column
of ones for every solver, so that all solve the same problem; the results are printed next to the times. liblinear runs
with its default tolerance, and with one that brings it near the exact answer. Independent features are the
easiest for it; features that go together are what real rows have.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from undistract.detect._logistic import add_intercept, class_weights
from undistract.detect.discriminative import Windows

Fits = Callable[[], list[np.ndarray]]


def ours(rows: np.ndarray, windows: Windows) -> Fits:
    """Fit every window by our solver."""
    return lambda: list(windows.fits(rows, windows.spans(len(rows))))


def liblinear(rows: np.ndarray, windows: Windows, tolerance: float) -> Fits:
    """Fit every window by scikit-learn."""
    rows = np.ascontiguousarray(rows)

    def fits() -> list[np.ndarray]:
        found = []
        for start, end in windows.spans(len(rows)):
            sizes = [end - start - windows.size, windows.size]
            model = LogisticRegression(
                solver="liblinear", C=1 / windows.ridge, fit_intercept=False, tol=tolerance, max_iter=10_000
            )
            weight = np.repeat(class_weights(*sizes), sizes)
            found.append(model.fit(rows[start:end], np.repeat([0, 1], sizes), sample_weight=weight).coef_[0])
        return found

    return fits


def positives(rows: np.ndarray, windows: Windows, fits: list[np.ndarray]) -> np.ndarray:
    """Give the probability of every positive row in every window."""
    spans = windows.spans(len(rows))
    return np.concatenate([expit(rows[end - windows.size : end] @ v) for (_, end), v in zip(spans, fits, strict=True)])


def compare(title: str, X: np.ndarray, window: int, stride: int, rounds: int) -> None:
    """Time all solvers in turns on one group of rows, and print the ratios."""
    rows = add_intercept((X - X.mean(axis=0)) / np.sqrt(X.var(axis=0).mean()))
    windows = Windows(window, stride, None, 0.1, exact=True)
    runs = {
        "newton": ours(rows, windows),
        "one_step": ours(rows, Windows(window, stride, None, 0.1, exact=False)),
        "liblinear": liblinear(rows, windows, 1e-4),
        "liblinear, tight": liblinear(rows, windows, 1e-8),
    }
    fits = {name: run() for name, run in runs.items()}
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            begun = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - begun)

    reference = positives(rows, windows, fits["newton"])
    print(f"\n{title}: {len(fits['newton'])} fits, {X.shape[0]} rows, {X.shape[1]} features, window {window}")
    print(f"{'':18}{'ms per fit':>12}{'liblinear ÷':>13}{'tight ÷':>9}{'Δ probability':>15}{'Δ coefficient':>15}")
    for name, seconds in best.items():
        coefficient = max(np.abs(a - b).max() for a, b in zip(fits[name], fits["newton"], strict=True))
        probability = np.abs(positives(rows, windows, fits[name]) - reference).max()
        print(
            f"{name:18}{1e3 * seconds / len(fits[name]):12.3f}{best['liblinear'] / seconds:13.1f}"
            f"{best['liblinear, tight'] / seconds:9.1f}{probability:15.1e}{coefficient:11.1e}"
        )
    agreement = spearmanr(positives(rows, windows, fits["one_step"]), reference)[0]
    print(f"rank agreement of one_step with newton: {agreement:.4f}")


def main() -> None:
    """Compare on independent features and on features that go together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"rows": 2000, "features": 64, "window": 100, "stride": 50, "rounds": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    X = random.normal(size=(arguments.rows, arguments.features))
    mixed = X @ random.normal(size=(arguments.features, arguments.features))
    with threadpool_limits(1):
        compare("Independent features", X, arguments.window, arguments.stride, arguments.rounds)
        compare("Mixed features", mixed, arguments.window, arguments.stride, arguments.rounds)


if __name__ == "__main__":
    main()
