"""Whatever stands in a file of vectors is a difference or one sentence, and soon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.caching.vectors import Difference, check_file
from compactlab.errors import BadSession

REQUEST: dict[str, Any] = {"t": 0, "blocks": [["a", 2000, "text", "messages"]],
                           "breakpoints": [[0, "5m"]], "expect": {"cost_usd": "0.0125"}}
PRICES = {"in": "5"}


def checked(path: Path, config: dict[str, Any] | None = None, provider: str = "anthropic",
            prices: dict[str, str] | None = None, **request: Any) -> Difference:
    vector = {"id": "V", "provider": provider, "prices": prices or PRICES, "config": config or {},
              "variants": [{"name": "x", "requests": [{**REQUEST, **request}]}]}
    path.write_text(json.dumps({"format": "compactlab cache vectors v1", "vectors": [vector]}))
    (found,) = check_file(path).differences
    return found


@pytest.mark.parametrize(("provider", "config"), [
    ("anthropic", {"min_tokens": "x"}), ("anthropic", {"min_tokens": None}),
    ("anthropic", {"lookback": 2.5}), ("anthropic", {"lookback": 10**12}),
    ("anthropic", {"provider": "x"}), ("anthropic", {"tree": 1}), ("anthropic", {"foo": 1}),
    ("anthropic", {"refresh": "x"}), ("anthropic", {"lookback_rule": ["x"]}),
    ("openai_56", {"endings": 10**12}), ("openai_56", {"mode": "x"}), ("vllm", {"block": 0}),
    ("vllm", {"capacity_blocks": -1}), ("deepseek", {"block": 0}), ("deepseek", {"rule": "x"}),
    ("openai", {"granularity": 0}), ("openai", {"idle_ttl": "x"}), ("gemini", {"p_hit": 1.5}),
    ("gemini", {"factor": 1e300}), ("gemini", {"seed": [1]})])
def test_a_setting_that_cannot_be_is_a_difference(
    tmp_path: Path, provider: str, config: dict[str, Any]
) -> None:
    found = checked(tmp_path / "v.json", config, provider)
    assert found[1:5] == ("x", -1, "run", "an answer")
    assert next(iter(config)) in found.found
    assert "Error" not in found.found


@pytest.mark.parametrize("prices", [{"in": "abc"}, {"w5": "1"}, {"in": "1e999999"}, {"in": "NaN"},
                                    {"in": "sNaN"}, {"in": "5", "read": "-Infinity"}])
def test_a_price_that_is_none_is_a_difference(tmp_path: Path, prices: dict[str, str]) -> None:
    assert checked(tmp_path / "v.json", prices=prices).field == "run"


@pytest.mark.parametrize("request_", [
    {"breakpoints": [[0, "²m"]]}, {"breakpoints": [[7, "5m"]]}, {"expect": {"cost_usd": "x"}},
    {"expect": {"cost_usd": [1]}}, {"expect": {"foo": 1}},
    {"blocks": [["a", 2**62, "text", "messages"]]}, {"blocks": [["a", -1, "text", "messages"]]}])
def test_a_request_that_cannot_be_is_a_difference(
    tmp_path: Path, request_: dict[str, Any]
) -> None:
    found = checked(tmp_path / "v.json", provider="anthropic", **request_)
    assert found.field == "run"
    assert "Error" not in found.found


@pytest.mark.parametrize("text", ['{"format": ' + "[" * 50_000, "null", '{"format": "\\ud800"}',
                                  '{"format": "x", "vectors": [{"t": NaN}]}'])
def test_another_file_costs_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "v.json").write_text(text)
    with pytest.raises(BadSession, match="no file of cache vectors"):
        check_file(tmp_path / "v.json")
