# SPDX-License-Identifier: Apache-2.0
"""The system model: what a description says, checked and with its units read."""

from consort.model.description import (
    Channel,
    Column,
    Configuration,
    FileInput,
    FunctionInput,
    Golden,
    Run,
    System,
    Task,
    Types,
)
from consort.model.load import load_system
from consort.model.platform import Platform, load_platform
from consort.model.problems import BadDescription
from consort.model.quantities import DataRate, Duration, Frequency, Size, Tolerance
from consort.model.references import CppName, PythonReference, StepReference
from consort.model.schema import system_schema

__all__ = [
    "BadDescription",
    "Channel",
    "Column",
    "Configuration",
    "CppName",
    "DataRate",
    "Duration",
    "FileInput",
    "Frequency",
    "FunctionInput",
    "Golden",
    "Platform",
    "PythonReference",
    "Run",
    "Size",
    "StepReference",
    "System",
    "Task",
    "Tolerance",
    "Types",
    "load_platform",
    "load_system",
    "system_schema",
]
