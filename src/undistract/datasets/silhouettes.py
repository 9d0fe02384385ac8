"""Silhouettes under changing illumination: the paper's experiment at full size, on its data.

    training   62 handwritten characters and the silhouettes of 99 kinds of objects, each class in six orientations,
               one group each; half of the images are illuminated
    test       all silhouettes of another kind with a few of a third kind among them, under the same illumination

The illumination is a gradient across the image (see `illumination.py`), so 2 of the 784 directions are nuisance
directions. The paper's own test is sunflowers among *Faces 2*. Its training kept *Faces 3*, which are nearly the same
silhouettes.

Silhouettes are one small MATLAB file on the page of their authors. Characters are NIST's own archive with all splits of
EMNIST. It is large, but it is the only public copy of the 62 classes with a published checksum that others use
(torchvision). A copy of that split on OpenML could not be confirmed, so it is not used.

    data=DIR, or UNDISTRACT_DATA, or a cache folder that is filled by one download  ─►  checked  ─►  LabelledImages

A download with a published checksum is compared with it. Others are trusted on first use: the sha256 of the converted
file is written to a file next to it, in the format of `sha256sum`, and compared on each later use. Users can pin a file
in the same way. Images that differ from those behind the figures of this project issue a warning.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import shutil
import string
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from undistract._arrays import Rows
from undistract._optional import import_optional
from undistract._text import format_names
from undistract.datasets.illumination import IlluminationExperiment, make_illumination_experiment, orientations
from undistract.errors import DownloadError, EvidenceWarning, InputError

# Four quarter turns and two flips; a vertical flip is mirrored and turned by 180°.
ORIENTATIONS = ("", " turned 90°", " turned 180°", " turned 270°", " mirrored", " mirrored turned 180°")


def make_illuminated_silhouettes(
    *,
    data: str | Path | None = None,
    normal: str | int = "Faces 2",
    odd: str | int = "sunflower",
    leave_out: Sequence[str | int] = (),
    n_hidden: int = 30,
    amplitude: float = 0.5,
    lit_training: float = 0.5,
    lit_test: float = 0.5,
    per_class: int = 100,
    seed: int = 0,
) -> IlluminationExperiment[str]:
    """Return training groups of characters and silhouettes, and test rows of two other kinds of silhouettes.

    Parameters
    ----------
    data : path, optional
        Folder of the images (see docs/data.md). Default: the environment variable UNDISTRACT_DATA; if it is not set,
        the images are downloaded once.
    normal, odd : str or int
        The normal and the anomalous kind of the test rows: a name, or a label from 1.
    leave_out : sequence of str or int
        Further kinds to exclude from training, such as ``["Faces 3"]``.
    n_hidden, amplitude, lit_training, lit_test, seed
        As in `make_illuminated_digits`.
    per_class : int
        Maximum number of training images per class, chosen at random. Few kinds of silhouettes have a hundred.

    Examples
    --------
    >>> outlines = make_illuminated_silhouettes(leave_out=["Faces 3"])  # doctest: +SKIP
    >>> outlines, len(outlines.training), outlines.test.shape  # doctest: +SKIP
    (IlluminationExperiment(normal='Faces 2', odd='sunflower'), 960, (465, 784))
    """
    if per_class < 1:
        raise InputError(f"per_class must be at least 1, got {per_class}.")
    outlines = load_images(SILHOUETTES, data)
    characters = load_images(CHARACTERS, data)
    normal_label = _label(outlines, normal)
    odd_label = _label(outlines, odd)
    excluded = {normal_label, odd_label, *(_label(outlines, kind) for kind in leave_out)}
    if normal_label == odd_label:
        raise InputError(f"normal and odd must be different, got {outlines.name(odd_label)!r} for both.")
    rng = np.random.default_rng(seed)

    def training() -> Iterator[tuple[str, Rows]]:
        for images, unused in ((characters, set()), (outlines, excluded)):
            for label in sorted(set(images.labels.tolist()) - unused):
                sample = rng.permutation(images.of(label))[:per_class]
                for orientation, oriented in orientations(sample):
                    if orientation in ORIENTATIONS:
                        yield f"{images.name(label)}{orientation}", oriented

    return make_illumination_experiment(
        training(),
        (outlines.name(normal_label), outlines.of(normal_label)),
        (outlines.name(odd_label), outlines.of(odd_label)),
        n_hidden=n_hidden,
        amplitude=amplitude,
        lit_training=lit_training,
        lit_test=lit_test,
        origin="EMNIST and Caltech-101 silhouettes",
        rng=rng,
    )


def _label(outlines: LabelledImages, kind: str | int) -> int:
    """Return the label of a kind of silhouette, from its name or from the label itself."""
    names = outlines.class_names
    first = outlines.first_label
    if isinstance(kind, str) and kind in names:
        return first + names.index(kind)
    if not isinstance(kind, str) and kind in range(first, first + len(names)):
        return int(kind)
    raise InputError(
        f"Unknown kind of silhouette {kind!r}; expected a label from {first} to {first + len(names) - 1}, or one of "
        f"the {len(names)} names ({format_names(names)})."
    )


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Grey images, a label for each, and a name for each label.

    Parameters
    ----------
    images : (n, height, width) array of uint8
        Upright; 0 is paper, the largest value is ink.
    labels : (n,) array of uint8
        Counted from `first_label`.
    class_names : sequence of str
        The first name belongs to `first_label`.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.array([[[0, 255]], [[255, 0]], [[0, 0]]], np.uint8)
    >>> letters = LabelledImages(images, np.array([1, 2, 1]), ["A", "B"])
    >>> letters
    LabelledImages(class_names=('A', 'B'), first_label=1)
    >>> letters.name(2), letters.of(2).tolist()
    ('B', [[[1.0, 0.0]]])
    """

    images: Rows = field(repr=False)
    labels: Rows = field(repr=False)
    class_names: Sequence[str]
    first_label: int = field(init=False)

    def __post_init__(self) -> None:
        # Frozen dataclass: assign through `object.__setattr__`.
        object.__setattr__(self, "class_names", tuple(str(name) for name in self.class_names))
        object.__setattr__(self, "first_label", int(self.labels.min(initial=255)))
        labels = np.unique(self.labels).tolist()
        expected = list(range(self.first_label, self.first_label + len(self.class_names)))
        fits = self.images.ndim == 3 and self.labels.shape == self.images.shape[:1] and labels == expected
        if not fits or not labels:
            raise InputError(
                f"Got images of shape {self.images.shape}, labels of shape {self.labels.shape} with {len(labels)} "
                f"different values, and {len(self.class_names)} names. Expected (n, height, width), (n,), and one name "
                "per label."
            )

    def name(self, label: int) -> str:
        """Return the name of a class."""
        return self.class_names[label - self.first_label]

    def of(self, label: int) -> Rows:
        """Return the images of one class, (n, height, width) float32 from 0 (paper) to 1 (ink)."""
        ink = np.float32(self.images.max() or 1)
        chosen: Rows = self.images[self.labels == label] / ink
        return chosen

    def fingerprint(self) -> str:
        """Return the sha256 of all pixels and labels; it does not depend on the file format."""
        return hashlib.sha256(self.images.tobytes() + self.labels.tobytes()).hexdigest()

    def save(self, path: Path) -> None:
        """Write one .npz file, uncompressed, so that the same images give the same bytes on every machine."""
        np.savez(path, images=self.images, labels=self.labels, class_names=np.array(self.class_names))

    @classmethod
    def load(cls, path: Path) -> LabelledImages:
        """Read a file written by `save`, or any .npz with images, labels and class_names."""
        try:
            with path.open("rb") as file, np.load(file) as arrays:
                return cls(arrays["images"], arrays["labels"], arrays["class_names"])
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{path} cannot be read ({error}); expected an .npz file with images, labels and class_names. "
                "Download it again, see docs/data.md."
            ) from error


PER_CLASS = 500  # of the 62 classes the rarest has 317 images, the most common thousands
SPLIT = "emnist-byclass-test"
_BROKEN = (ValueError, KeyError, IndexError, zlib.error)  # what the readers below raise for a damaged file


@dataclass(frozen=True)
class Publisher:
    """A published collection of images: address, checksums and reader.

    `known_sum` is the public checksum of the publisher's file, if there is one. `fingerprint` is that of the images
    behind the figures of this project.
    """

    title: str
    file: str  # in the data folder
    url: str
    megabytes: int  # to download
    known_sum: str | None  # such as "md5:58c8…"
    fingerprint: str
    read: Callable[[Path], LabelledImages]

    @property
    def original(self) -> str:
        """Path of the publisher's own file in the data folder."""
        return str(Path(self.file).with_name(self.url.rpartition("/")[2]))


def outlines_from_mat(path: Path) -> LabelledImages:
    """Read the authors' MATLAB file, in which images are transposed and the object is 0."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    content = io.BytesIO(path.read_bytes())  # so that an OSError below is about the content, not about the disk
    try:
        content_by_name = loadmat(content, squeeze_me=True, variable_names=("X", "Y", "classnames"))
        columns, labels, names = (content_by_name[key] for key in ("X", "Y", "classnames"))
        side = int(np.sqrt(columns.shape[1]))
        upright = columns.reshape(len(columns), side, side).transpose(0, 2, 1)
        images = np.ascontiguousarray(1 - upright, dtype=np.uint8)
        return LabelledImages(images, labels.astype(np.uint8), [str(name).replace("_", " ") for name in names])
    except (OSError, NotImplementedError, MatReadError, TypeError, *_BROKEN) as error:
        raise _not_as_expected(path, "a MATLAB file with X, Y and classnames", error) from error


def characters_from_zip(path: Path) -> LabelledImages:
    """Read NIST's archive: the first 500 images of each class of the by-class test split, in file order."""
    try:
        with zipfile.ZipFile(path) as archive:
            images, labels = (_idx(archive, f"{SPLIT}-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1"))
        names = string.digits + string.ascii_uppercase + string.ascii_lowercase
        chosen = np.sort(np.concatenate([np.flatnonzero(labels == label)[:PER_CLASS] for label in range(len(names))]))
        # The publisher stores images transposed.
        return LabelledImages(np.ascontiguousarray(images[chosen].transpose(0, 2, 1)), labels[chosen], names)
    except (EOFError, zipfile.BadZipFile, gzip.BadGzipFile, *_BROKEN) as error:
        raise _not_as_expected(path, f"a zip archive with {SPLIT} as gzipped IDX files", error) from error


def _idx(archive: zipfile.ZipFile, name: str) -> Rows:
    """Read an IDX file of bytes: two zeros, the type 8, the number of axes, the length of each, then the bytes."""
    content = gzip.decompress(
        archive.read(next((member for member in archive.namelist() if member.endswith(name)), name))
    )
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _not_as_expected(path: Path, expected: str, error: Exception) -> InputError:
    return InputError(
        f"{path.name} is not {expected}: {error}. Download it again from its publisher, see docs/data.md."
    )


SILHOUETTES = Publisher(
    title="Caltech-101 silhouettes",
    file="caltech101_silhouettes/caltech101_silhouettes_28.npz",
    url="https://people.cs.umass.edu/~marlin/data/caltech101_silhouettes_28.mat",
    megabytes=4,  # at most
    known_sum=None,
    fingerprint="bbe771d8f6bc3a94abb21607f9ed7d98deac5c4e688fabbc75597e691bb6325c",
    read=outlines_from_mat,
)
CHARACTERS = Publisher(
    title="EMNIST",
    file="emnist/emnist_byclass_test_cap500.npz",
    url="https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
    megabytes=536,
    known_sum="md5:58c8d27c78d21e728a6bc7b3cc06412e",
    fingerprint="0e5493f9475badb6238f89fabaf9108d5bddd5bde39c577588be6cd93f3d37cf",
    read=characters_from_zip,
)


FOLDER_VARIABLE = "UNDISTRACT_DATA"
TIMEOUT = 30  # seconds until a server that does not answer is abandoned
BY_HAND = (
    "To avoid the download, put the files into a folder DIR as "
    + " and ".join(f"DIR/{each.file} (or the publisher's {each.original})" for each in (SILHOUETTES, CHARACTERS))
    + f", and pass it with --data DIR, data=DIR or {FOLDER_VARIABLE}=DIR."
)


def load_images(publisher: Publisher, data: str | Path | None = None) -> LabelledImages:
    """Return published images from a folder, or from the cache, which is filled by a download if it is empty.

    Parameters
    ----------
    publisher : Publisher
    data : path, optional
        The folder. Default: the environment variable UNDISTRACT_DATA; if it is not set, the cache of this user.
    """
    chosen = data or os.environ.get(FOLDER_VARIABLE)
    folder = Path(chosen or _library("pooch").os_cache("undistract"))
    packed = folder / publisher.file
    original = folder / publisher.original
    if not chosen and not packed.is_file() and not original.is_file():
        download_images(publisher, folder)
    if packed.is_file():
        _check_record(packed, _record(packed))
        return LabelledImages.load(packed)
    if original.is_file():
        _check_published_sum(publisher, original)
        return publisher.read(original)
    raise InputError(
        f"There is no {publisher.file} in {folder}. {BY_HAND} Without a folder the images are downloaded once."
    )


def download_images(publisher: Publisher, folder: Path) -> Path:
    """Download images, check and convert them; return the file. Its checksum is recorded in a second file.

    The file appears in `folder` only when it is complete.

    Examples
    --------
    >>> download_images(SILHOUETTES, Path("my-data"))  # doctest: +SKIP
    PosixPath('my-data/caltech101_silhouettes/caltech101_silhouettes_28.npz')
    """
    packed = folder / publisher.file
    with _download_errors(publisher, folder):
        packed.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(packed.parent).free // 10**6
        if free < publisher.megabytes:
            raise OSError(errno.ENOSPC, f"{free} MB are free, {publisher.title} needs {publisher.megabytes} MB")
        with TemporaryDirectory(dir=packed.parent) as scratch:
            original = _retrieve(publisher, scratch)
            _check_published_sum(publisher, original)
            images = publisher.read(original)
            if images.fingerprint() != publisher.fingerprint:
                warnings.warn(
                    f"{publisher.title}: the images from {publisher.url} are not those behind the figures of this "
                    f"project (fingerprint {images.fingerprint()}, expected {publisher.fingerprint}). Your figures may "
                    "differ.",
                    EvidenceWarning,
                    stacklevel=2,
                )
            converted = Path(scratch) / packed.name
            images.save(converted)
            record = _record(packed)
            if record.is_file():  # from an earlier download, or pinned by the user
                _check_record(converted, record)
            else:
                record.write_text(f"{_checksum(converted)}  {packed.name}\n", encoding="utf-8")
            converted.replace(packed)
    return packed


def _library(name: str) -> Any:
    return import_optional(
        name, extra="paper", to=f"Downloading images (or pass a folder with the images: {FOLDER_VARIABLE})"
    )


def _retrieve(publisher: Publisher, folder: str) -> Path:
    from rich.console import Console

    pooch = _library("pooch")
    console = Console(stderr=True)
    message = f"Downloading {publisher.title}, about {publisher.megabytes} MB, from {publisher.url}"
    console.print(message, highlight=False, soft_wrap=True)
    pooch.get_logger().setLevel("WARNING")  # it would print the temporary path and advice for programmers
    downloader = pooch.HTTPDownloader(timeout=TIMEOUT, progressbar=_ProgressBar(console))
    name = Path(publisher.original).name
    return Path(pooch.retrieve(publisher.url, None, fname=name, path=folder, downloader=downloader))


class _ProgressBar:
    """Shows a download with rich, in the interface that pooch expects; nothing if stderr is not a terminal."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

        self._bar = Progress(BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=console, transient=True)
        self._bar.disable = not console.is_terminal
        self._task = self._bar.add_task("", total=None)
        self.total: int | None = None  # set by pooch

    def update(self, n_bytes: int) -> None:
        self._bar.start()
        self._bar.update(self._task, advance=n_bytes, total=self.total or None)

    def reset(self) -> None:
        self._bar.reset(self._task)

    def close(self) -> None:
        self._bar.stop()


@contextmanager
def _download_errors(publisher: Publisher, folder: Path) -> Iterator[None]:
    """Turn any failure into a DownloadError that explains what to do."""
    failures = _library("requests").exceptions
    host = urlsplit(publisher.url).hostname
    try:
        yield
    except failures.HTTPError as error:
        response = error.response
        raise DownloadError(f"{publisher.url} returned {response.status_code} {response.reason}. {BY_HAND}") from error
    except (failures.ConnectionError, failures.Timeout) as error:
        raise DownloadError(f"Cannot connect to {host} for {publisher.title}. {BY_HAND}") from error
    except failures.RequestException as error:
        raise DownloadError(f"The transfer from {publisher.url} failed: {error}. Try again. {BY_HAND}") from error
    except DownloadError:
        raise
    except InputError as error:
        raise DownloadError(f"The file from {publisher.url} was not used. {error}") from error
    except OSError as error:
        advice = "Free some disk space" if error.errno == errno.ENOSPC else "Fix the cause"
        raise DownloadError(
            f"Cannot write into {folder}: {error.strerror}. {advice}, and try again. {BY_HAND}"
        ) from error


def _check_published_sum(publisher: Publisher, path: Path) -> None:
    if publisher.known_sum is None:
        return
    algorithm, _, expected = publisher.known_sum.partition(":")
    actual = _checksum(path, algorithm)
    if actual != expected:
        raise DownloadError(
            f"{path.name} of {publisher.title} ({publisher.url}) has the {algorithm} {actual}, expected {expected}. It "
            f"was not used: the transfer was damaged, or the publisher changed the file. Try again. {BY_HAND}"
        )


def _check_record(path: Path, record: Path) -> None:
    if not record.is_file():
        return
    actual = _checksum(path)
    expected = record.read_text(encoding="utf-8").partition(" ")[0].strip()
    if actual != expected:
        raise InputError(
            f"{path.name} has the sha256 {actual}, but {record} has {expected}: one of them was changed. Delete the "
            "first to download it again, or the second to trust the file."
        )


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _checksum(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
