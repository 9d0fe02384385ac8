"""Render a test clip of UCSD Ped2 with its scores, and take one frame of it for docs/video.md.

python -m benchmarks.ped2_picture --data DIR --save out.mp4 --picture docs/images/render.png
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from benchmarks.ped2 import clips, labels
from undistract import Focus
from undistract._optional import import_optional
from undistract.detect import FocusDetector, Scores, find_alarms
from undistract.errors import EvidenceWarning
from undistract.features import make_extractor
from undistract.report.video import render_video
from undistract.sources.videos import read_frames, video_source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--features", default="cells")
    parser.add_argument("--clip", type=int, default=4)
    parser.add_argument("--frame", type=int, default=120)
    parser.add_argument("--save", type=Path, required=True)
    parser.add_argument("--picture", type=Path, required=True)
    options = parser.parse_args()
    extract = make_extractor(options.features)
    calm = [video_source(clip, extract).rows for clip in clips(options.data, "ped2", "train")]
    owner = np.repeat(np.arange(len(calm)), [len(rows) for rows in calm])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)  # sixteen groups are few for so many features
        watch = FocusDetector(Focus()).fit(np.concatenate(calm), groups=owner)
    path = clips(options.data, "ped2", "test")[options.clip - 1]
    clip = video_source(path, extract)
    rows, times = clip.rows, clip.times
    scores = Scores(clip.name, watch.anomaly_score(rows), times)
    alarms = find_alarms(scores, watch.threshold_, gap=5)
    focus = watch.focus_
    ignored = np.square(rows - focus.denoise(rows)).sum(axis=1)
    share = ignored / np.square(rows - focus.moments_.mean).sum(axis=1)
    threshold = watch.threshold_.value
    render_video(path, times, scores.values, save=options.save, threshold=threshold, alarms=alarms, ignored_share=share)
    frames = np.concatenate([some for some, _ in read_frames(options.save)])
    import_optional("cv2", extra="video", to="Writing pictures").imwrite(
        str(options.picture), frames[options.frame][..., ::-1]
    )
    strange = np.flatnonzero(labels(options.data, "ped2")[options.clip - 1])
    print(f"alarms {[(alarm.start, alarm.stop) for alarm in alarms]}, ignored {share.min():.2f} to {share.max():.2f}")
    print(f"strange by the labels: {strange.min()} to {strange.max()} of {len(rows)} frames")


if __name__ == "__main__":
    main()
