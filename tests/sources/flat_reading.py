"""Read a small file and one ten times as long, and print the peak memory of this process after each.

python -m tests.sources.flat_reading KIND WORK FOLDER
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from undistract import Focus, Model, Source, learn, read_sources, score, transform
from undistract.pipeline import denoise

WIDTH, SIZES = 8, {"small": 100_000, "large": 1_000_000}
SETS = 5
# Arrow reads 32 MB of text ahead: the short file is as long, so that this memory is in its peak too.
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


def sources_of(kind, size, folder):
    """Return several sources of one kind."""
    step = SIZES[size] // SETS
    if kind == "generator":
        return [Source.from_reader(number, lambda number=number: drawn(number, step)) for number in range(SETS)]
    if kind == "memmap":
        rows = np.load(folder / f"{size}.npy", mmap_mode="r")
        return [Source(number, rows[number * step : (number + 1) * step]) for number in range(SETS)]
    if kind in ("npy", "npz"):
        from undistract import ReadOptions

        return read_sources(folder / f"{size}.{kind}", ReadOptions(split_every=step) if kind == "npy" else None)
    (source,) = read_sources(folder / f"{size}.{kind}")
    return [source, Source("calm", np.random.default_rng(1).normal(size=(500, WIDTH)))]


def drawn(seed, n_rows):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(1000, WIDTH)) for _ in range(n_rows // 1000))


def peak():
    # Of this process only: ru_maxrss would include the memory of its parent, and hide what is used here.
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def main(kind, work, folder):
    warnings.simplefilter("ignore")
    folder = Path(folder)
    days = [Source(day, np.random.default_rng(day).normal(size=(300, WIDTH))) for day in range(10)]
    model = learn(days, focus=Focus(n_remove=1), n_known=100)
    works = {
        "fit_groups": lambda groups: Focus().fit_groups(groups),
        "arrays": lambda groups: Focus().fit_groups({source.name: source.rows for source in groups}),
        "learn": lambda groups: learn(groups, n_known=100),
        "score": lambda groups: score(groups, Model(model.detector)),
        "transform": lambda groups: transform(groups, model, folder / "clean.npy"),
        "denoise": lambda groups: denoise(groups, model, folder / "clean.parquet"),
    }
    works[work](sources_of(kind, "small", folder))  # the first run includes the memory that libraries take once
    small = peak()
    works[work](sources_of(kind, "large", folder))
    print(small, peak())


if __name__ == "__main__":
    main(*sys.argv[1:])
