"""Which map an estimator takes from rows to coordinates, and for which settings there is one."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from undistract.arrays import Floats
from undistract.errors import InputError
from undistract.kernel.kernels import Kernel, is_precomputed
from undistract.kernel.maps import FourierMap, SpanMap

APPROXIMATIONS = ("nystroem", "fourier")
MOST_ROWS = 5000  # of an exact kernel: its matrix has 200 MB there, and takes minutes to solve


class MakesMap:
    """Makes a map of rows, as its settings say; those are described in `KernelFocus`."""

    kernel: Any
    approx: str | None
    n_components: int
    gamma: float | str
    degree: float
    coef0: float
    kernel_params: Any
    news: bool
    random_state: Any

    def _map(self, X: Floats) -> SpanMap | FourierMap:
        return self._exact(X) if self.approx is None else self._approximation(X)

    def _check(self) -> None:
        """Refuse settings that make no sense for any rows; the kernel and Focus look at theirs."""
        if self.approx is not None and not (isinstance(self.approx, str) and self.approx in APPROXIMATIONS):
            raise InputError(f"approx is {self.approx!r}; expected None, 'nystroem' or 'fourier'.")
        whole = isinstance(self.n_components, Integral) and not isinstance(self.n_components, bool)
        if not whole or not 1 <= int(self.n_components) <= MOST_ROWS:
            raise InputError(f"n_components is {self.n_components!r}; expected a whole number from 1 to {MOST_ROWS}.")
        if not isinstance(self.news, bool):
            raise InputError(f"news is {self.news!r}; expected True or False.")
        is_rbf = isinstance(self.kernel, str) and self.kernel == "rbf"
        if self.approx == "fourier" and not is_rbf:
            raise InputError(f"kernel is {self.kernel!r}; approx='fourier' is for 'rbf' alone. Use approx='nystroem'.")
        if self.approx is not None and is_precomputed(self.kernel):
            raise InputError("A precomputed kernel holds every product already: use approx=None.")

    def _exact(self, X: Floats) -> SpanMap:
        if len(X) > MOST_ROWS:
            raise InputError(
                f"{len(X)} rows are many for an exact kernel (at most {MOST_ROWS}): it needs every product of two. Use "
                "approx='nystroem', or approx='fourier' with the rbf kernel."
            )
        if is_precomputed(self.kernel):
            if X.shape[0] != X.shape[1]:
                raise InputError(f"X has shape {X.shape}; a precomputed kernel needs the products of all rows, (n, n).")
            if not np.allclose(X, X.T, rtol=1e-6, atol=1e-6 * float(np.abs(X).max())):
                raise InputError("The precomputed kernel is not symmetric: k(x, y) must be k(y, x).")
        return SpanMap.of(X, self._kernel(X), news=self.news)

    def _approximation(self, X: Floats) -> SpanMap | FourierMap:
        rng = check_random_state(self.random_state)
        if self.approx == "fourier":
            return FourierMap.of(self._kernel(X), X.shape[1], max(1, int(self.n_components) // 2), rng)
        some = np.sort(rng.permutation(len(X))[: int(self.n_components)])
        return SpanMap.of(X[some], self._kernel(X), news=self.news)

    def _kernel(self, X: Floats) -> Kernel:
        return Kernel.of(
            X, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, parameters=self.kernel_params
        )
