"""How much of all variation the automatic rule removes on real data: the ground for its cap.

    python benchmarks/removed_share.py [folder with real data]

The cap (`MOST_VARIATION` in `undistract.algebra.cutoff`) must lie above what useful removal takes.
"""

import os
import sys
from pathlib import Path

import numpy as np

from undistract.algebra import Moments, Spectrum, cut


def faces(data):
    found = np.load(data / "yale_faces" / "extended_yale_b_48x42.npz")
    known = np.isin(found["subject"], np.unique(found["subject"])[:28])
    return found["images"][known].reshape(known.sum(), -1) / 255.0, found["subject"][known]


def letters(data, amplitude):
    rng = np.random.default_rng(0)
    found = np.load(data / "emnist" / "emnist_byclass_test_cap500.npz")
    gradients = np.stack(np.meshgrid(np.linspace(-1, 1, 28), np.linspace(-1, 1, 28))).reshape(2, -1)
    n = len(found["images"])
    angle, strength = rng.uniform(0, 2 * np.pi, n), rng.normal(0, amplitude, n) * (rng.random(n) < 0.5)
    light = np.column_stack([strength * np.cos(angle), strength * np.sin(angle)]) @ gradients
    return found["images"].reshape(n, -1) / 255.0 + light, found["labels"]


def servers(data, group):
    found = np.load(data / "smd" / f"smd_group{group}.npz")
    names = [name for name in found.files if name.endswith("_train")]
    return np.concatenate([found[name] for name in names]), np.repeat(names, [len(found[name]) for name in names])


def video(data, camera, stride):
    found = np.load(data / "ucsd_ped" / f"{camera}_effnetlite0_avg1280_stride{stride}.npz")
    return found["train_embedding"].astype(np.float32), found["train_clip"]


def objects(data):
    found = np.load(data / "coil20" / "coil20_32x32.npz")
    return found["images"].reshape(len(found["images"]), -1) / 255.0, found["object"]


CASES = {
    "Yale faces, real light": faces,
    "EMNIST, no light": lambda data: letters(data, 0.0),
    "EMNIST, light .5": lambda data: letters(data, 0.5),
    "EMNIST, light 1": lambda data: letters(data, 1.0),
    "SMD servers, group 1": lambda data: servers(data, 1),
    "SMD servers, group 2": lambda data: servers(data, 2),
    "SMD servers, group 3": lambda data: servers(data, 3),
    "UCSD Ped1 embeddings": lambda data: video(data, "ped1", 4),
    "UCSD Ped2 embeddings": lambda data: video(data, "ped2", 2),
    "COIL-20 turntable": objects,
}


def main():
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("UNDISTRACT_DATA", "../shared/data"))
    print("data                        rows     d sets removed of all variation inside sets")
    for name, read in CASES.items():
        moments = Moments.of_labelled(*read(data))
        spectrum = Spectrum.of(moments)
        gone = cut(spectrum).n_removed
        print(
            f"{name:24s} {moments.n_rows:7d} {moments.n_features:5d} {moments.n_sets:4d} {gone:7d} "
            f"{spectrum.variation[:gone].sum():16.2f} {spectrum.variation_inside[:gone].sum():11.2f}"
        )


if __name__ == "__main__":
    main()
