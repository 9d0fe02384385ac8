"""Statements that `mutants --lines` skips because a small change of them is also correct, with the reason."""

_NAME = "a cache key: any other name works if all differ; tests notice a missing part"
_BUFFER = "the size of a buffer that grows when needed"
_SPEED = "a block size: affects only speed"

# (module, function, statement): why
EITHER_WAY = {
    (
        "store.py",
        "_engine",
        "return create_engine(url, **pool, pool_pre_ping=True, isolation_level='READ COMMITTED')",
    ): ("of PostgreSQL, whose tests a campaign leaves out: test_store_reconnects_after_the_server_ended_its_session"),
    ("store.py", "_set_up", "connection.close()"): "closed automatically since SQLAlchemy 2.1",
    ("array_api.py", "to_device", "inference = getattr(space.xp, 'is_inference_mode_enabled', bool)()"): _NAME,
    ("array_api.py", "to_device", "key = (*space.key, str(dtype), inference)"): _NAME,
    ("model.py", "Model._fit_with_groups", "keys = tuple((item.verdict.key for item in calm))"): _NAME,
    ("row_solvers.py", "solve_rows", "lengths[constant] = 1.0"): "any other number works: the numerator is zero",
    ("scatter.py", "_MeanAccumulator.__post_init__", "self.pending = np.empty((MIN_MEANS + 1, n_features))"): _BUFFER,
    ("scatter.py", "_accumulate", "size = min(block_rows(n_features), n_rows)"): _BUFFER,
    ("scatter.py", "_accumulate", "continue"): "a product of no rows adds nothing",
    ("scatter.py", "mirror", "width = 64"): _SPEED,
    ("solvers.py", "block_lanczos", "rng = np.random.default_rng(0)"): "any other start block works as well",
}
