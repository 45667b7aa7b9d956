"""Consort: one hard real-time application across unlike processors."""

__version__ = "0.1.0"
