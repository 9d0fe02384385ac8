"""A process of its own that reads a small file and one ten times as long, and prints its highest mark after each.

python -m tests.sets.flat_reading KIND WHAT FOLDER
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from undistract import FeatureSet, Focus, Model, learn, read_sets, score, transform
from undistract.workflow import denoise

WIDTH, SIZES = 8, {"small": 100_000, "large": 1_000_000}
SETS = 5
# Arrow reads 32 MB of text ahead: the short file has as much, so that the long one finds it taken.
TIMES = {"csv": 4}


def write(kind, folder):
    """Write both files."""
    for size, n_rows in SIZES.items():
        rows, path = np.random.default_rng(0).normal(size=(n_rows, WIDTH)), folder / f"{size}.{kind}"
        if kind in ("npy", "memmap"):
            np.save(folder / f"{size}.npy", rows)
        elif kind == "npz":
            np.savez(path, **{f"set{number}": part for number, part in enumerate(np.array_split(rows, SETS))})
        elif kind in ("csv", "parquet", "feather", "arrow"):
            write_table(kind, rows, path)


def write_table(kind, rows, path):
    import pyarrow as arrow

    table = arrow.table({f"f{column}": rows[:, column] for column in range(WIDTH)})
    if kind == "csv":
        from pyarrow.csv import CSVWriter

        narrow = arrow.table({name: table[name].cast("float32") for name in table.column_names})
        with CSVWriter(path, narrow.schema) as file:
            for _ in range(TIMES["csv"]):
                file.write_table(narrow)
    elif kind == "parquet":
        from pyarrow.parquet import write_table as write_parquet

        write_parquet(table, path)  # one group of rows
    elif kind == "feather":
        from pyarrow.feather import write_feather

        write_feather(table, str(path), compression="uncompressed")
    else:
        with arrow.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)  # one batch


def sets_of(kind, size, folder):
    """Several sets of one kind."""
    step = SIZES[size] // SETS
    if kind == "generator":
        return [FeatureSet.reading(number, lambda number=number: drawn(number, step)) for number in range(SETS)]
    if kind == "memmap":
        rows = np.load(folder / f"{size}.npy", mmap_mode="r")
        return [FeatureSet(number, rows[number * step : (number + 1) * step]) for number in range(SETS)]
    if kind in ("npy", "npz"):
        from undistract import Reading

        return read_sets(folder / f"{size}.{kind}", Reading(split_every=step) if kind == "npy" else None)
    (whole,) = read_sets(folder / f"{size}.{kind}")
    return [whole, FeatureSet("calm", np.random.default_rng(1).normal(size=(500, WIDTH)))]


def drawn(seed, n_rows):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(1000, WIDTH)) for _ in range(n_rows // 1000))


def peak():
    # Of this process alone: ru_maxrss would also count what the one that started it had in use, and hide what is taken.
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def main(kind, what, folder):
    warnings.simplefilter("ignore")
    folder = Path(folder)
    days = [FeatureSet(day, np.random.default_rng(day).normal(size=(300, WIDTH))) for day in range(10)]
    model = learn(days, focus=Focus(n_remove=1), n_known=100)
    works = {
        "fit_sets": lambda sets: Focus().fit_sets(sets),
        "arrays": lambda sets: Focus().fit_sets({one.name: one.rows for one in sets}),
        "learn": lambda sets: learn(sets, n_known=100),
        "score": lambda sets: score(sets, Model(model.watch)),
        "transform": lambda sets: transform(sets, model, folder / "clean.npy"),
        "denoise": lambda sets: denoise(sets, model, folder / "clean.parquet"),
    }
    works[what](sets_of(kind, "small", folder))  # what libraries take once is taken
    small = peak()
    works[what](sets_of(kind, "large", folder))
    print(small, peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
