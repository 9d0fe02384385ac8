"""Statements of which a small change is right as well, and why: `mutants --lines` does not ask for them."""

_NAME = "what is kept is looked up by it: any other name does, while all differ; tests notice a part that is gone"
_ROOM = "how much room is made at first, or at once: it grows where it is not enough"
_SPEED = "how much is done at once: speed alone"

# (module, function, statement): why
EITHER_WAY = {
    (
        "database.py",
        "_engine",
        "return create_engine(url, **one, pool_pre_ping=True, isolation_level='READ COMMITTED')",
    ): ("of PostgreSQL, whose tests a campaign leaves out: test_a_store_goes_on_when_the_server_has_ended_its_session"),
    ("database.py", "_set_up", "connection.close()"): "from SQLAlchemy 2.1 on, it is closed all the same",
    ("elsewhere.py", "denoising", "key = (n_removed, repr(removal), repr(strength))"): _NAME,
    ("elsewhere.py", "moved", "inference = getattr(library.xp, 'is_inference_mode_enabled', bool)()"): _NAME,
    ("elsewhere.py", "moved", "key = (*library.key, str(dtype), inference)"): _NAME,
    ("feedback.py", "Teachable._base", "keys = tuple((one.verdict.key for one in calm))"): _NAME,
    (
        "feedback.py",
        "Lesson.__post_init__",
        "found = self.evidence",
    ): "its shape is asked for, and whether it is finite",
    ("few_rows.py", "few_rows", "lengths[still] = 1.0"): "any other number does: what it divides is zero",
    ("gather.py", "_Means.__post_init__", "self.waiting = np.empty((ENOUGH_SETS + 1, n_features))"): _ROOM,
    ("gather.py", "_scatters", "size = min(block_rows(n_features), n_rows)"): _ROOM,
    ("gather.py", "_scatters", "continue"): "a product of no rows adds nothing",
    ("gather.py", "mirror", "size, width = (len(matrix), 64)"): _SPEED,
    ("leading.py", "leading", "rng = np.random.default_rng(0)"): "any other block to begin with does as well",
}
