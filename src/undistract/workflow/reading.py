"""Reading: how rows are made of files. What a model learned from must be read again in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from undistract.errors import InputError
from undistract.sets.feature_set import FeatureSet
from undistract.sets.find import find_sets
from undistract.sets.identity import named_paths
from undistract.sets.videos import video_set
from undistract.sets.windows import windowed


@dataclass(frozen=True)
class Reading:
    """How rows are made.

    Parameters
    ----------
    features : str, optional
        How frames of videos and images become rows, such as ``"pixels"`` or ``"flow+pixels(size=24x16)"``.
    columns : tuple of str, or "numeric", optional
        The columns of tables that are features.
    group, time : str, optional
        Columns that say which set a row belongs to, and when it was seen.
    window, stride : int
        Rows of a time series are taken in windows of so many, one every `stride`.
    missing : {"refuse", "drop", "impute"}
        What happens where a value of a table is missing.
    key : str, optional
        Which arrays of .npz files are taken, a pattern such as ``*_train``.
    resize : (width, height), optional
        Images are scaled to it.
    split_every : int, optional
        Long recordings are cut into sets of so many rows.
    delimiter, decimal, header
        How text tables are written: what stands between columns (seen by itself), the sign of decimals, and whether
        the first line has the names.

    Examples
    --------
    >>> reading = Reading(features="pixels(size=3x2)", window=5)
    >>> reading.extractor().image_shape
    (2, 3)
    >>> Reading.of(reading.as_json()) == reading
    True
    """

    features: str | None = None
    columns: tuple[str, ...] | str | None = None
    group: str | None = None
    time: str | None = None
    window: int = 1
    stride: int = 1
    missing: str = "refuse"
    key: str | None = None
    resize: tuple[int, int] | None = None
    split_every: int | None = None
    delimiter: str | None = None
    decimal: str = "."
    header: bool = True

    def extractor(self) -> Any:
        """Make the extractor that `features` names; None where it names none."""
        from undistract.features import make_extractor

        return None if self.features is None else make_extractor(self.features)

    def as_json(self) -> dict[str, Any]:
        """Give what differs from the default, as plain values."""
        default = Reading()
        given = {name: value for name, value in asdict(self).items() if value != getattr(default, name)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> Self:
        """Make a reading of plain values."""
        unknown = set(words) - {field.name for field in fields(cls)}
        if unknown:
            raise InputError(f"Rows were made with {', '.join(sorted(unknown))}, which this version does not know.")
        plain: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in words.items()}
        return cls(**plain)


def read_sets(
    paths: str | Path | Iterable[str | Path],
    reading: Reading | None = None,
    *,
    ignore: Sequence[str] = (),
    cache: Any = None,
) -> list[FeatureSet]:
    """Find sets in files and folders: arrays, tables, images and videos. Rows are read when they are asked for.

    Parameters
    ----------
    paths : path or iterable of paths
        Files, folders, or patterns such as ``calm/*.mp4``.
    reading : Reading, optional
        How rows are made.
    ignore : sequence of str
        Patterns of files to leave out.
    cache : RowCache, optional
        Where rows of videos are kept for the next time.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for day in ("mon", "tue"):
    ...         np.save(Path(folder, f"{day}.npy"), np.ones((6, 2)))
    ...     [(one.name, len(one)) for one in read_sets(folder, Reading(window=3))]
    [('mon.npy', 4), ('tue.npy', 4)]
    """
    how = reading or Reading()

    def read_video(path: Path, extract: Any, *, name: str) -> FeatureSet:
        return video_set(path, extract, name=name, cache=cache)

    found = find_sets(
        paths,
        ignore=ignore,
        group=how.group,
        time=how.time,
        columns=how.columns,
        missing=how.missing,  # type: ignore[arg-type]
        key=how.key,
        delimiter=how.delimiter,
        decimal=how.decimal,
        header=how.header,
        extract=how.extractor(),
        resize=how.resize,
        read_video=read_video,
        split_every=how.split_every,
    )
    return found if how.window == how.stride == 1 else [windowed(one, how.window, how.stride) for one in found]


def read_again(sources: Iterable[str | None], reading: Reading, *, cache: Any = None) -> list[FeatureSet]:
    """Find the sets that were scored once more, where their files are still there; else none.

    Examples
    --------
    >>> read_again(["no-such.npy", None], Reading())
    []
    """
    named = [named_paths(source) for source in dict.fromkeys(sources)]
    if not named or not all(named):
        return []
    return read_sets([path for paths in named for path in paths], reading, cache=cache)
