"""ReadOptions: how files become rows. The command line, Python and saved models share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from undistract.errors import InputError


@dataclass(frozen=True)
class ReadOptions:
    """How files become rows. Data that are scored must be read with the options of the training data.

    Parameters
    ----------
    features : str, optional
        Extractor for frames of videos and images, such as ``"pixels"`` or ``"flow+pixels(size=24x16)"``.
    columns : tuple of str, or "numeric", optional
        Table columns that are features; by default all columns, which must be numeric.
    group, time : str, optional
        Table columns with the group and the time of each row. Rows of one group may be anywhere, in any file.
    window, stride : int
        Combine `window` consecutive rows into one feature vector, one every `stride` rows.
    missing : {"error", "drop", "impute"}
        What to do with missing values: raise an error, drop the row, or use the mean of the column in the same source.
    key : str, optional
        Arrays of .npz files to read, a pattern such as ``*_train``.
    resize : (width, height), optional
        Scale images to this size.
    split_every : int, optional
        Split each source into sources of this many rows, for one long recording.
    delimiter, decimal, header
        Format of text tables: the delimiter (default: detected), the decimal separator, and whether the first line has
        the column names.

    Examples
    --------
    >>> options = ReadOptions(columns=("load", "heat"), window=5)
    >>> options.to_dict()
    {'columns': ['load', 'heat'], 'window': 5}
    >>> ReadOptions.from_dict(options.to_dict()) == options
    True
    """

    features: str | None = None
    columns: tuple[str, ...] | str | None = None
    group: str | None = None
    time: str | None = None
    window: int = 1
    stride: int = 1
    missing: str = "error"
    key: str | None = None
    resize: tuple[int, int] | None = None
    split_every: int | None = None
    delimiter: str | None = None
    decimal: str = "."
    header: bool = True

    def extractor(self) -> Any:
        """Return the extractor that `features` describes, or None."""
        from undistract.features import make_extractor

        if self.features is None:
            return None
        return make_extractor(self.features)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the default, as JSON values."""
        default = ReadOptions()
        options = {name: value for name, value in asdict(self).items() if value != getattr(default, name)}
        for name, value in options.items():
            if isinstance(value, tuple):
                options[name] = list(value)
        return options

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the options for the result of `to_dict`."""
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise InputError(
                f"Unknown reading options: {', '.join(sorted(unknown))}. Upgrade: pip install --upgrade undistract"
            )
        options = dict(values)
        for name, value in options.items():
            if isinstance(value, list):
                options[name] = tuple(value)
        return cls(**options)


DEFAULTS = ReadOptions()
