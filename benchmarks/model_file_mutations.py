"""Mutated model files by the thousand: each raises a clear error, or is a model that works.

    python -m benchmarks.model_file_mutations --files 20000

Half of them are damaged at random places, half are forged: changed inside, and signed again. What loads is used. Any
other exception, a NaN out of a model, a file that takes ten seconds, or code that is run out of it is a failure.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.storage.mutations import damaged, forged
from tests.storage.things import arrays_of, rows, things
from undistract import FileError, InputError, describe_file, load, save
from undistract.storage.container import read_container

SECONDS = 10
RUN = ("exec", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "marshal.loads")
# While a file is read nothing may even be compiled or imported. In use joblib parses the sum "2 * n_jobs".
WATCHED = {"loading": (*RUN, "compile", "import"), "use": RUN, "nothing": ()}


class Campaign:
    """Mutates the files of some things and tries each."""

    def __init__(self, originals, folder):
        self.surprises = []
        self._phase = "nothing"
        self._path = Path(folder) / "mutated"
        self._files = []
        for number, thing in enumerate(originals.values()):
            path = save(thing, Path(folder) / str(number))
            self._files.append((path.read_bytes(), *read_container(path)))
            self._use(path)  # so that every import is done before the calls are watched
        self._phase = "nothing"
        self._ran = []
        sys.addaudithook(self._audit)

    def run(self, n_files, *, how, seed):
        """Try this number of mutations, and count how each ended."""
        rng = np.random.default_rng(seed)
        counts = Counter()
        for number in range(n_files):
            data, header, arrays = self._files[rng.integers(len(self._files))]
            self._path.write_bytes(damaged(data, rng) if how == "damaged" else forged(header, arrays, rng))
            found = self._tried()
            counts[found] += 1
            if found not in ("refused", "works", "refused in use"):
                self.surprises.append(f"{how}, seed {seed}, file {number}: {found}")
        return counts

    def _tried(self):
        self._ran.clear()
        try:
            with _no_longer_than(SECONDS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self._use(self._path)
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        finally:
            self._phase = "nothing"
        return f"ran {self._ran[0]}" if self._ran else found

    def _use(self, path):
        self._phase = "loading"
        with suppress(FileError):
            describe_file(path)
        try:
            thing = load(path)
        except FileError:
            return "refused"
        self._phase = "use"
        try:
            arrays_of(thing)
            return (
                "gives NaN" if any(map(_gives_nan, thing.values() if isinstance(thing, dict) else [thing])) else "works"
            )
        except InputError:
            return "refused in use"

    def _audit(self, event, arguments):
        if event in WATCHED[self._phase]:
            self._ran.append(f"{event} {str(arguments)[:200]}")


def _gives_nan(thing):
    """Whether a model makes NaN out of plain rows."""
    uses = (getattr(thing, name, None) for name in ("transform", "anomaly_score", "predict_proba"))
    use = next((one for one in uses if one is not None), None)
    return hasattr(thing, "n_features_in_") and bool(np.isnan(use(rows(thing.n_features_in_))).any())


@contextmanager
def _no_longer_than(seconds):
    def late(*_):
        raise TimeoutError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        campaign = Campaign(things(), folder)
        for how in ("damaged", "forged"):
            print(how, dict(campaign.run(options.files // 2, how=how, seed=options.seed).most_common(8)), flush=True)
    print(f"{time.perf_counter() - start:.0f} s, {len(campaign.surprises)} surprises")
    for surprise in campaign.surprises[:40]:
        print(" ", surprise)
    sys.exit(bool(campaign.surprises))


if __name__ == "__main__":
    main()
