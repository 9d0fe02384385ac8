"""Files that unpack to far more than they are: refused before anything is unpacked."""

from __future__ import annotations

from undistract.errors import InputError

# Numbers that were measured pack to a half or a tenth; silhouettes to a tenth. Only emptiness packs to a 200th.
MOST_PACKED, ALWAYS_FINE = 200, 2**24


def refuse_packed(file: str, what: str, unpacked: int, packed: int) -> None:
    """Refuse what would be more than 16 MB, and more than 200 times what it is in the file.

    Examples
    --------
    >>> refuse_packed("calm.npz", "'x'", 2**24, 1)
    >>> refuse_packed("calm.npz", "'x'", 2 * 10**9, 2 * 10**6)
    Traceback (most recent call last):
    ...
    undistract.errors.InputError: calm.npz packs 2000 MB of 'x' into 2.0 MB, more than 200 to one. Real numbers...
    """
    if unpacked > max(ALWAYS_FINE, MOST_PACKED * packed):
        raise InputError(
            f"{file} packs {unpacked / 1e6:.0f} MB of {what} into {packed / 1e6:.1f} MB, more than {MOST_PACKED} to "
            "one. Real numbers do not; if these are, save the array as .npy."
        )
