"""UCSD Ped2 from its video files alone: anomalous frames found before and after removal of the nuisance.

    python -m benchmarks.ped2 --data DIR                 the table of docs/video.md
    python -m benchmarks.ped2 --data DIR --choose        Ped1 instead: where the defaults were chosen

Normal clips are the groups (16 of Ped2, 34 of Ped1, another camera); the score is the mean distance to the ten nearest
of at most 3000 normal frames of the camera under test. Speed is frames per second of one core, decoding included;
the camera gives 10.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from undistract import Focus
from undistract._optional import import_optional
from undistract.detect import NearestDetector, quality
from undistract.errors import EvidenceWarning
from undistract.features import make_extractor
from undistract.sources.cache import RowCache
from undistract.sources.videos import video_source

REPORTED = ("pixels", "gradients", "cells", "flow")
CHOICES = (
    *REPORTED,
    "pixels(size=48x32)",
    "cells(cells=8x6)",
    "cells(pool=max)",
    "cells(cells=8x6,pool=max)",
    "flow(cells=8x6)",
    "flow(pool=max)",
    "flow(cells=8x6,pool=max)",
    "flow(cells=8x6)+cells",
    "flow(cells=8x6,pool=max)+cells(pool=max)",
)
MOST_ROWS = 3000


def clips(data: Path, camera: str, part: str, every: int = 1) -> list[Path]:
    """List the clips of one camera, in order."""
    found = sorted((data / "ucsd_ped").glob(f"{camera}_{part}_*.mp4"))
    if not found:
        raise SystemExit(f"There are no clips {camera}_{part}_*.mp4 in {data / 'ucsd_ped'}; see docs/data.md.")
    return found[::every]


def labels(data: Path, camera: str) -> list[Any]:
    """Return the truth about each frame, test clip by test clip."""
    with np.load(data / "ucsd_ped" / f"{camera}_60x40.npz") as held:
        truth, clip = held["test_label"], held["test_clip"]
    return [truth[clip == number] for number in np.unique(clip)]


def auroc(normal: Any, tests: list[Any], truth: Any, focus: Focus | None) -> float:
    """Return how well distances to normal frames rank the anomalous ones above the others, over all test frames."""
    turned = [rows if focus is None else focus.transform(rows) for rows in (normal, *tests)]
    detector = NearestDetector().fit(turned[0])
    return quality(np.concatenate([detector.anomaly_score(rows) for rows in turned[1:]]), truth).auroc


def measure(spec: str, data: Path, camera: str, others: str, every: int, cache: RowCache | None) -> dict[str, Any]:
    """Measure one extractor."""
    extract = make_extractor(spec)

    def rows(name: str, part: str) -> list[Any]:
        return [video_source(clip, extract, cache=cache).rows for clip in clips(data, name, part, every)]

    started = time.process_time()
    tests = rows(camera, "test")
    seconds = time.process_time() - started
    own, other = rows(camera, "train"), rows(others, "train")
    truth = np.concatenate(labels(data, camera)[::every])
    normal = np.concatenate(own)
    normal = normal[np.random.default_rng(0).permutation(len(normal))[:MOST_ROWS]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # few groups and many features are the subject here
        from_own, from_other = Focus().fit_groups(own), Focus().fit_groups(other)
    return {
        "features": normal.shape[1],
        "before": auroc(normal, tests, truth, None),
        "after": auroc(normal, tests, truth, from_own),
        "removed": from_own.n_removed_,
        "after_other": auroc(normal, tests, truth, from_other),
        "removed_other": from_other.n_removed_,
        "rate": sum(map(len, tests)) / seconds,
    }


def table(camera: str, others: str, lines: list[tuple[str, dict[str, Any]]]) -> str:
    """Write the measurements as a table of Markdown."""
    head = (
        f"| extractor | features | AUROC before | after, groups of {camera} (removed) "
        f"| after, groups of {others} (removed) | frames per second |\n|---|---|---|---|---|---|"
    )
    rows = (
        f"| `{spec}` | {m['features']} | {m['before']:.3f} | {m['after']:.3f} ({m['removed']}) "
        f"| {m['after_other']:.3f} ({m['removed_other']}) | {m['rate']:.0f} |"
        for spec, m in lines
    )
    return re.sub(r"\b0\.(?=\d{3})", ".", "\n".join([head, *rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--choose", action="store_true", help="measure on Ped1, whose labels may be looked at")
    parser.add_argument("--every", type=int, default=1, help="take each so-many-th clip only")
    parser.add_argument("--cache", type=Path, help="keep rows here (the speed is then that of the cache)")
    parser.add_argument("specs", nargs="*", help="extractors; a list of our own unless given")
    options = parser.parse_args()
    import_optional("cv2", extra="video", to="Optical flow").setNumThreads(1)
    camera, others = ("ped1", "ped2") if options.choose else ("ped2", "ped1")
    cache = RowCache(options.cache) if options.cache else None
    lines = []
    for spec in options.specs or (CHOICES if options.choose else REPORTED):
        lines.append((spec, measure(spec, options.data, camera, others, options.every, cache)))
        print(spec, lines[-1][1], flush=True)
    print(table(camera.title(), others.title(), lines))


if __name__ == "__main__":
    main()
