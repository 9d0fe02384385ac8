"""End-to-end tests: the real command line on real files, from normal data to an HTML report."""

import json

import numpy as np
import pytest

from tests.cli.shell import shell, write_day, write_days
from tests.clips import dots, write_clip


def output(*words, folder, code=0):
    done = shell(*words, folder=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def answer(*words, folder):
    return json.loads(output(*words, "--json", folder=folder))


def page(path):
    return path.read_text(encoding="utf-8")


def test_tables_of_a_machine_to_a_report_on_a_new_day(tmp_path):
    for needed in ("pyarrow", "matplotlib"):
        pytest.importorskip(needed)
    write_days(tmp_path / "here", range(1, 11))
    write_days(tmp_path / "there", range(11, 21))
    write_day(tmp_path / "today.csv", 99, event=77)
    (tmp_path / "options.toml").write_text('time = "when"\n')

    words = ("learn", "here", "there", "--config", "options.toml", "--save", "machine.focus")
    assert "Removed: 1 of 6 directions" in output(*words, folder=tmp_path)
    assert "a typical step: heat +" in output("explain", "machine.focus", folder=tmp_path)

    words = ("score", "today.csv", "--with", "machine.focus", "--save", "today.scores", "--fail-on-alarm")
    assert "77" in output(*words, folder=tmp_path, code=3)
    output("report", "today.scores", "--save", "today.html", folder=tmp_path)
    assert "1 of 6 directions is ignored" in page(tmp_path / "today.html")

    assert answer("info", "today.scores", folder=tmp_path)["content"]["model"].endswith("machine.focus")
    output("convert", "today.scores", "--save", "table.csv", folder=tmp_path)
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 121

    # Merging the models of two sites, without sharing rows, gives the model of all rows.
    for site in ("here", "there"):
        output("learn", site, "--time", "when", "--without-rows", "--save", f"{site}.focus", folder=tmp_path)
    output("merge", "here.focus", "there.focus", "--save", "both.focus", folder=tmp_path)
    both, machine = (answer("explain", f"{name}.focus", folder=tmp_path) for name in ("both", "machine"))
    assert (
        (both["groups"], both["rows"], both["removed"])
        == (machine["groups"], machine["rows"], machine["removed"])
        == (20, 2400, 1)
    )
    assert both["ignored"][0]["steps"] == pytest.approx(machine["ignored"][0]["steps"])
    words = ("score", "today.csv", "--with", "both.focus", "--save", "both.scores")
    assert answer(*words, folder=tmp_path)["groups"][0]["strongest"]["row"] == 77


def test_normal_clips_to_a_clip_with_scores(tmp_path, monkeypatch):
    for needed in ("av", "cv2", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.setenv("UNDISTRACT_CACHE", str(tmp_path / "rows"))
    (tmp_path / "calm").mkdir()
    light = np.random.default_rng(0)
    for seed in range(1, 13):
        write_clip(tmp_path / "calm" / f"clip{seed}.mp4", lit(dots(40, seed=seed), light))
    frames = lit(dots(40, seed=0), light)
    frames[20:24, 16:48, 30:66] = 0  # something dark appears
    write_clip(tmp_path / "match.mp4", frames)

    words = ("learn", "calm", "--features", "pixels(size=12x8)", "--save", "calm.focus")
    learned = answer(*words, folder=tmp_path)
    assert (learned["groups"], learned["rows"], learned["features"]) == (12, 480, 96)
    assert learned["removed"] >= 1
    assert len(list((tmp_path / "rows").glob("*.npz"))) == 12  # the next run reads the cache

    words = ("score", "match.mp4", "--with", "calm.focus", "--save", "match.scores", "--render", "scored.mp4")
    found = answer(*words, folder=tmp_path)
    assert found["groups"][0]["strongest"]["row"] in range(20, 24)
    import av

    with av.open(str(tmp_path / "scored.mp4")) as clip:
        assert sum(1 for _ in clip.decode(video=0)) == 40
    output("report", "match.scores", "--save", "match.html", folder=tmp_path)
    assert "data:image/png;base64," in page(tmp_path / "match.html")


def lit(frames, rng):
    """Change the brightness of each frame at random."""
    return np.clip(frames + rng.normal(scale=25, size=(len(frames), 1, 1, 1)), 0, 255).astype(np.uint8)


def test_folders_of_faces_to_faces_without_light(tmp_path, data):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    with np.load(data / "yale_faces" / "extended_yale_b_48x42.npz") as faces:
        images, people = faces["images"], faces["subject"]
    for person in np.unique(people)[:10]:
        folder = tmp_path / "faces" / f"person{person}"
        folder.mkdir(parents=True)
        for number, face in enumerate(images[people == person][:20]):
            image.fromarray(face).save(folder / f"light{number}.png")

    words = ("learn", "faces", "--features", "pixels(size=21x24)", "--n-remove", 3, "--save", "faces.focus")
    learned = answer(*words, folder=tmp_path)
    assert (learned["groups"], learned["rows"], learned["features"], learned["removed"]) == (10, 200, 504, 3)
    output("report", "faces.focus", "--data", "faces", "--save", "faces.html", folder=tmp_path)
    # Six people: as recorded, without the light, and the light alone; then the three removed directions.
    assert page(tmp_path / "faces.html").count("data:image/png;base64,") == 6 * 3 + 3
