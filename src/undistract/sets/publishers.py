"""Who publishes the images of the paper's experiment, and how their files become `Pictures`.

Silhouettes come as one small MATLAB file from the page of their authors. Characters come as NIST's own archive with all
splits of EMNIST, which is large; but it is the one public copy of the 62 classes with a checksum that others have
published and use every day (torchvision). A copy of that split on OpenML could not be confirmed, so none is used.
"""

from __future__ import annotations

import gzip
import io
import string
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from undistract.arrays import Rows
from undistract.errors import InputError
from undistract.sets.pictures import Pictures

PER_CLASS = 500  # of the 62 classes the rarest has 317 images, the most common thousands
SPLIT = "emnist-byclass-test"


@dataclass(frozen=True)
class Source:
    """A published set of images: where it is, how to know it, and how to read it.

    `known_sum` is a checksum of the publisher's file that was made public, if any. `fingerprint` is that of the images
    which the figures of this project were made with.
    """

    title: str
    file: str  # in the data folder
    url: str
    megabytes: int  # to download
    known_sum: str | None  # such as "md5:58c8…"
    fingerprint: str
    read: Callable[[Path], Pictures]

    @property
    def original(self) -> str:
        """The publisher's own file, as it may lie in the data folder."""
        return str(Path(self.file).with_name(self.url.rpartition("/")[2]))


def outlines_from_mat(path: Path) -> Pictures:
    """Read the authors' MATLAB file: there, rows run down the columns of an image, and the object is 0."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    content = io.BytesIO(path.read_bytes())  # so that an OSError below speaks of the content, not of the disk
    try:
        held = loadmat(content, squeeze_me=True, variable_names=("X", "Y", "classnames"))
        columns, labels, names = held["X"], held["Y"], held["classnames"]
        side = int(np.sqrt(columns.shape[1]))
        upright = columns.reshape(len(columns), side, side).transpose(0, 2, 1)
        images = np.ascontiguousarray(1 - upright, dtype=np.uint8)
        return Pictures(images, labels.astype(np.uint8), [str(name).replace("_", " ") for name in names])
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        NotImplementedError,
        MatReadError,
        zlib.error,
    ) as error:
        raise _not_as_expected(path, "a MATLAB file with X, Y and classnames", error) from error


def characters_from_zip(path: Path) -> Pictures:
    """Read NIST's archive: the first 500 of each class of the by-class test split, in the order of the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            images, labels = (_idx(archive, f"{SPLIT}-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1"))
        names = string.digits + string.ascii_uppercase + string.ascii_lowercase
        chosen = np.sort(np.concatenate([np.flatnonzero(labels == one)[:PER_CLASS] for one in range(len(names))]))
        # The publisher stores images lying on their side; upright is the transpose.
        return Pictures(np.ascontiguousarray(images[chosen].transpose(0, 2, 1)), labels[chosen], names)
    except (ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error) as error:
        raise _not_as_expected(path, f"a zip archive with {SPLIT} as gzipped IDX files", error) from error


def _idx(archive: zipfile.ZipFile, name: str) -> Rows:
    """Read an IDX file of bytes: two zeros, the type 8, the number of axes, the length of each, then the bytes."""
    content = gzip.decompress(archive.read(next((one for one in archive.namelist() if one.endswith(name)), name)))
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _not_as_expected(path: Path, expected: str, error: Exception) -> InputError:
    return InputError(f"{path.name} is not {expected}: {error}. Get it again from its publisher, see docs/data.md.")


SILHOUETTES = Source(
    title="Caltech-101 silhouettes",
    file="caltech101_silhouettes/caltech101_silhouettes_28.npz",
    url="https://people.cs.umass.edu/~marlin/data/caltech101_silhouettes_28.mat",
    megabytes=4,  # at most
    known_sum=None,
    fingerprint="bbe771d8f6bc3a94abb21607f9ed7d98deac5c4e688fabbc75597e691bb6325c",
    read=outlines_from_mat,
)
CHARACTERS = Source(
    title="EMNIST",
    file="emnist/emnist_byclass_test_cap500.npz",
    url="https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
    megabytes=536,
    known_sum="md5:58c8d27c78d21e728a6bc7b3cc06412e",
    fingerprint="0e5493f9475badb6238f89fabaf9108d5bddd5bde39c577588be6cd93f3d37cf",
    read=characters_from_zip,
)
