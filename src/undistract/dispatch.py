"""Which array library rows come from, as scikit-learn tells it: numpy unless array API dispatch is on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils._array_api import _convert_to_numpy, get_namespace_and_device

from undistract.algebra.library import Library
from undistract.errors import InputError

_NUMPY = {"numpy", "array_api_compat.numpy", "sklearn.externals.array_api_compat.numpy"}


def library_of(array: Any) -> Library | None:
    """Return where an array lives, or None for numpy's and for all that becomes numpy's.

    It is None as well without ``sklearn.config_context(array_api_dispatch=True)``: scikit-learn then makes a numpy
    array of anything.

    Examples
    --------
    >>> import numpy as np
    >>> print(library_of(np.zeros(3)), library_of([1, 2]))
    None None
    """
    xp, of_the_standard, device = get_namespace_and_device(array)
    if not of_the_standard or xp.__name__ in _NUMPY:
        return None
    return Library(xp, device, lambda values: _home(values, xp))


def at_home(array: Any) -> Any:
    """Return an array of another library as numpy's, and anything else as it is.

    Examples
    --------
    >>> at_home(["mon", "tue"])
    ['mon', 'tue']
    """
    try:
        library = library_of(array)
    except TypeError:  # labels of any kind will do, also such that no array library knows
        return array
    return array if library is None else library.to_numpy(array)


def dtypes_of(library: Library | None) -> list[Any]:
    """Return the dtypes that rows may have, the widest first; None stands for numpy.

    Examples
    --------
    >>> dtypes_of(None)
    [<class 'numpy.float64'>, <class 'numpy.float32'>]
    """
    return [np.float64, np.float32] if library is None else library.dtypes


class OnAnyLibrary:
    """An estimator that keeps what it learned by numpy, and remembers where its rows were.

    scikit-learn asks that rows come from the library and the device that an estimator was fitted on. One that was
    fitted by numpy, from moments or out of a file serves all of them.

    Examples
    --------
    >>> estimator = OnAnyLibrary()
    >>> estimator._remember_place(None)
    >>> estimator._library([[1.0, 2.0]], "transform") is None
    True
    """

    _fitted_on: tuple[str, str] | None = None  # library and device; None for numpy

    def _remember_place(self, library: Library | None) -> None:
        self.__dict__.pop("_fitted_on", None)
        if library is not None:
            self._fitted_on = library.key

    def _library(self, X: Any, method: str) -> Library | None:
        """Say where rows live, None for numpy, and refuse them if the estimator was fitted elsewhere."""
        library = library_of(X)
        fitted_on, key = self._fitted_on, None if library is None else library.key
        if fitted_on is not None and key != fitted_on and get_config()["array_api_dispatch"]:
            raise InputError(
                f"{type(self).__name__}.{method}() got rows of {_words(key)}, but was fitted on rows of "
                f"{_words(fitted_on)}. With array_api_dispatch they must use the same namespace and device. Move the "
                "rows, or the estimator: sklearn.utils._array_api.move_estimator_to(estimator, xp, device)."
            )
        return library

    def __sklearn_array_api_convert__(self, convert: Any) -> Any:
        """Return a copy for rows of another library or device."""
        made = clone(self)
        made.__dict__.update(self.__dict__)
        made._remember_place(library_of(convert(np.zeros(1))))
        return made


def _words(key: tuple[str, str] | None) -> str:
    return "numpy" if key is None else f"{key[0].rpartition('.')[2]} on {key[1]}"


def _home(values: Any, xp: Any) -> npt.NDArray[Any]:
    if hasattr(values, "detach"):  # a tensor that is part of a gradient
        values = values.detach()
    return np.asarray(_convert_to_numpy(values, xp))
