"""Signatures, commands and HTTP schemas are those that were recorded."""

import pytest

from tests.contract import interfaces


def test_signatures_are_as_recorded():
    difference = interfaces.difference(interfaces.SIGNATURES, interfaces.signatures())
    assert not difference, difference


def test_commands_are_as_recorded():
    difference = interfaces.difference(interfaces.COMMANDS, interfaces.commands())
    assert not difference, difference


def test_openapi_schemas_are_as_recorded():
    pytest.importorskip("fastapi")
    difference = interfaces.difference(interfaces.OPENAPI, interfaces.openapi())
    assert not difference, difference
