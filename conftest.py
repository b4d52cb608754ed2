"""Shared by the scenarios and the tests of this repository."""

pytest_plugins = ["pytester"]
