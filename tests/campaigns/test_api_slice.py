"""A short run of the API campaign."""

import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "undistract[web]"')
pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")


@pytest.mark.parametrize("index", [0, 1])
def test_api_equals_its_schema(index, tmp_path):
    from tests.campaigns.api import campaign, models
    from tests.web.running import serving

    with serving(models(tmp_path)[index]) as server:
        result = campaign(server, examples=10, seed=1)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "No issues found" in result.stdout
    assert "Tested: 4" in result.stdout
