"""A slice of the campaign, so that the API stays what its schema says."""

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')
pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")


@pytest.mark.parametrize("kept", [0, 1])
def test_the_api_equals_its_schema(kept, tmp_path):
    from tests.campaigns.api import campaign, models
    from tests.web.running import serving

    with serving(models(tmp_path)[kept]) as server:
        told = campaign(server, examples=10, seed=1)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "No issues found" in told.stdout
    assert "Tested: 4" in told.stdout
