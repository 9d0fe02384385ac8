"""Time `Focus` on PyTorch tensors against the same rows in numpy.

    SCIPY_ARRAY_API=1 python benchmarks/array_api.py [--device cpu] [--rounds 5] [--full]

One process, one thread for each library, interleaved rounds, the smallest CPU time of each; on a device other
than the processor, wall time. A ratio above one means that numpy was faster. Both answers are compared with numpy's in
float64. `--crossover` finds where removing a few columns stops being cheaper than one product with what is kept.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before scikit-learn and scipy are imported

import numpy as np
import sklearn
import torch
from threadpoolctl import threadpool_limits

from undistract import Focus
from undistract.algebra import Projection, array_api
from undistract.algebra.array_api import Namespace
from undistract.focus import namespace_of

# The cases of the other speed tables: rows, features, groups.
CASES = {
    "A": (95_400, 784, 954),
    "B": (1_000_000, 128, 1_000),
    "C": (20_000, 2_048, 200),
    "F": (1_000_000, 16, 100_000),
}
REDUCED = {"A": (30_000, 784, 300), "B": (300_000, 128, 300), "C": (8_000, 1_024, 80), "F": (300_000, 16, 30_000)}


def rows_of(n_rows: int, n_features: int, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw groups that differ, and a tenth of the directions that vary in all of them."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), n_rows // n_groups)
    X = rng.normal(size=(len(groups), n_features))
    X += rng.normal(size=(n_groups, n_features))[groups]
    n_strong = max(n_features // 10, 1)
    X += rng.normal(scale=10, size=(len(groups), n_strong)) @ rng.normal(size=(n_strong, n_features)) / n_strong**0.5
    return X, groups


def shortest(works: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """Run all tasks interleaved, and keep the smallest time of each."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            start = clock()
            work()
            best[name] = min(best[name], clock() - start)
    return best


def compare(case: str, shape: tuple[int, int, int], device: str, rounds: int) -> None:
    """Time fit and transform of one case, and print a line for each."""
    X, groups = rows_of(*shape)
    n_remove = max(shape[1] // 10, 1)
    rows = {"float64": torch.asarray(X, device=device), "float32": torch.asarray(X.astype(np.float32), device=device)}
    here = Focus(n_remove=n_remove).fit(X, groups=groups)
    there = Focus(n_remove=n_remove).fit(rows["float64"], groups=groups)
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    clock = time.process_time if device == "cpu" else time.perf_counter

    def line(what: str, numpy: Callable[[], object], other: Callable[[], object]) -> None:
        best = shortest({"numpy": numpy, "torch": lambda: (other(), wait())}, rounds, clock)
        ratio = best["torch"] / best["numpy"]
        print(f"| {case} {shape} | {what} | {best['numpy']:.3f} s | {best['torch']:.3f} s | {ratio:.2f} |", flush=True)

    line(
        "fit", lambda: Focus(n_remove=n_remove).fit(X, groups=groups), lambda: there.fit(rows["float64"], groups=groups)
    )
    for dtype, tensor in rows.items():
        plain = X.astype(dtype)
        line(f"transform, {dtype}", lambda plain=plain: here.transform(plain), lambda t=tensor: there.transform(t))
        exact = here.transform(X[:1000].astype(dtype).astype(np.float64))
        found = {"numpy": here.transform(plain[:1000]), "torch": there.transform(tensor[:1000]).cpu().numpy()}
        errors = [f"{name} {np.abs(Z - exact).max() / np.abs(exact).max():.1e}" for name, Z in found.items()]
        print(f"  {dtype}, largest error against numpy's float64: {', '.join(errors)}")


def crossover(n_rows: int, n_features: int, device: str, rounds: int) -> None:
    """Print how two thin products compare with one thick product, by the share of directions removed."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    X, groups = rows_of(n_rows, n_features, max(n_rows // 100, 2))
    rows = torch.asarray(X, device=device)
    library = library_for(rows)
    spectrum = Focus(n_remove=1).fit(X, groups=groups).spectrum_
    for share in (0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5):
        n_removed = round(share * n_features)
        works = {}
        for thin in (True, False):
            array_api.low_rank_is_cheaper = lambda *_, thin=thin: thin
            works[str(thin)] = partial(
                array_api.to_device(Projection.of(spectrum, n_removed), library, rows.dtype), rows
            )
        best = shortest(works, rounds, clock)
        print(f"| {n_features} | {share:.2f} | {best['True'] / best['False']:.2f} |", flush=True)


def library_for(tensor: torch.Tensor) -> Namespace:
    """Return where a tensor lives; dispatch must be on."""
    library = namespace_of(tensor)
    assert library is not None
    return library


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="all rows, instead of about a third")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--crossover", action="store_true", help="thin products against a thick one, instead")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # what the evidence is worth is not the question here
    if chosen.crossover:
        print("| features | share removed | thin ÷ thick |\n|---|---|---|")
        with threadpool_limits(1), sklearn.config_context(array_api_dispatch=True):
            for n_rows, n_features in ((20_000, 128), (10_000, 784), (4_000, 2_048)):
                crossover(n_rows, n_features, chosen.device, chosen.rounds)
        return
    print("| case (rows, features, groups) | what | numpy | torch | torch ÷ numpy |\n|---|---|---|---|---|")
    with threadpool_limits(1), sklearn.config_context(array_api_dispatch=True):
        for case in chosen.cases:
            compare(case, (CASES if chosen.full else REDUCED)[case], chosen.device, chosen.rounds)


if __name__ == "__main__":
    main()
