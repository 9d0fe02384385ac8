"""The claims of the paper: what expected.toml says is what the scripts find, and what the README tells."""

import re
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from paper import claims, common, silhouette_results
from paper.page import page

CLAIMS = {claim["id"]: claim for claim in claims.claims()}
README = common.README.read_text(encoding="utf-8")
MEASURED = [name for name, claim in CLAIMS.items() if "script" in claim]


@pytest.mark.parametrize("name", MEASURED)
def test_what_was_found_is_found_again(name):
    claim = CLAIMS[name]
    # Four digits are written down; the last one may fall either way.
    assert claims.measured(claim) == pytest.approx(claim["found"], rel=2e-3, abs=1e-9)


@pytest.mark.parametrize("name", MEASURED)
def test_a_claim_that_holds_agrees_with_the_paper_and_a_wrong_one_does_not(name):
    claim = CLAIMS[name]
    if claim["verdict"] != "holds with a reservation":
        assert claims.agrees(claim) == (claim["verdict"] == "holds")


def test_every_claim_has_a_verdict_and_a_remark_and_a_name_of_its_own():
    assert len(CLAIMS) == len(claims.claims())
    for claim in CLAIMS.values():
        assert claim["verdict"] in claims.VERDICTS
        assert claim["says"]
        assert claim["remark"]


def test_the_readme_goes_through_every_claim_and_has_filled_every_table():
    told = re.findall(r"^\| `([\w-]+)` \(", README, re.MULTILINE)
    assert sorted(told) == sorted(CLAIMS)
    assert re.findall(r"<!-- table: ([^>]+) -->\n<!-- end -->", README) == []


def test_the_readme_tells_what_expected_toml_holds(tmp_path, monkeypatch, capsys):
    copy = tmp_path / "README.md"
    copy.write_text(README, encoding="utf-8")
    monkeypatch.setattr(common, "README", copy)
    for script in {claim["script"] for claim in CLAIMS.values() if "script" in claim}:
        import_module(f"paper.{script}").tables()
    claims.tables()
    assert copy.read_text(encoding="utf-8") == README


def test_the_page_holds_every_figure_and_needs_nothing_from_elsewhere():
    html = page(common.README)
    assert html.count("data:image/png;base64,") == len(list(common.FIGURES.glob("*.png"))) == 5
    assert not re.search(r'(src|href)="(?!data:|https://arxiv\.org)', html)
    assert "<!--" not in html


def test_a_table_without_its_place_in_the_readme_is_an_error(capsys):
    with pytest.raises(SystemExit, match="0 places"):
        common.publish("no such table", ["a"], [["1"]])


def test_one_seed_of_the_silhouettes_is_found_again(data):
    from paper.illuminated_silhouettes import run

    found = list(run(0, data, quick=True))
    off = silhouette_results.differences(found, silhouette_results.read())
    assert len(off) > 100
    # Where eigenvalues crowd, single eigenvectors turn with the last bits of the sums, and so with the number of BLAS
    # threads: a forest saw that as .09. What does not hang on one basis is found again.
    turned = {name for name in off if re.search(r", eigen (isolation forest|one-class svm) ", name)}
    assert 0 < len(turned) < 20
    # Numbers are kept to six digits; a distance that rounds the other way can swap two ranks.
    worst = next(name for name in off if name not in turned)
    assert off[worst] < 0.01, worst
    assert max(off[name] for name in turned) < 0.2


def test_the_paper_s_setting_and_ours_do_what_the_issue_asked_for():
    found = silhouette_results.measures()
    assert 85 <= found["directions"] <= 135
    assert found["light_degrees"][0] < 20
    assert found["light_degrees"][2] < 5
    _, _, ours, clean = found["nearest_common"]
    assert ours > clean - 0.02


def test_the_euclidean_complement_of_the_filters_fails():
    precision, light_left = silhouette_results.measures()["complement_of_filters"]
    before = silhouette_results.measures()["nearest_common"][0]
    assert light_left > 0.9
    assert precision < before + 0.05
    # ... in the same way on three features: the first reads, the second moves.
    X, filters = np.eye(2), np.array([[0.0], [1.0]])
    assert common.complement_of_filters(X, filters).tolist() == [[1.0, 0.0], [0.0, 0.0]]
