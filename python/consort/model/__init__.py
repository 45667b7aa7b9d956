# SPDX-License-Identifier: Apache-2.0
"""The system model: a description's content, checked and with its units read."""

from consort.base.errors import BadDescription
from consort.model.channel import Chain, Channel, Configuration
from consort.model.description import System
from consort.model.figures import Figure, Provenance
from consort.model.load import load_system, platform_schema, system_from_data, system_schema
from consort.model.memories import Memory
from consort.model.mode import Mode, Override, Run
from consort.model.platform import (
    Core,
    CoreGroup,
    Platform,
    Processor,
    Scratchpad,
    load_platform,
    platform_from_data,
)
from consort.model.quantities import DataRate, Duration, Energy, Frequency, Size, Tolerance
from consort.model.sharing import Scheduling
from consort.model.sources import (
    Column,
    CppName,
    FileInput,
    FunctionInput,
    Golden,
    PythonReference,
    StepReference,
    SystemDevice,
)
from consort.model.task import Dispatch, Footprint, Task, Types

__all__ = [
    "BadDescription",
    "Chain",
    "Channel",
    "Column",
    "Configuration",
    "Core",
    "CoreGroup",
    "CppName",
    "DataRate",
    "Dispatch",
    "Duration",
    "Energy",
    "Figure",
    "FileInput",
    "Footprint",
    "Frequency",
    "FunctionInput",
    "Golden",
    "Memory",
    "Mode",
    "Override",
    "Platform",
    "Processor",
    "Provenance",
    "PythonReference",
    "Run",
    "Scheduling",
    "Scratchpad",
    "Size",
    "StepReference",
    "System",
    "SystemDevice",
    "Task",
    "Tolerance",
    "Types",
    "load_platform",
    "load_system",
    "platform_from_data",
    "platform_schema",
    "system_from_data",
    "system_schema",
]
