"""What a transform knows before it sees rows."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Any, Self

from gristmill.errors import Failure
from gristmill.schema import read_fields
from gristmill.types import Field


class Stage(enum.Enum):
    """What a transform is used for."""

    NORMALIZE = "normalize"
    MIGRATE = "migrate"
    MAP = "map"


@dataclass(frozen=True)
class Dictionary:
    """A dictionary that the task pins."""

    name: str
    key: str
    """The column that look-ups match."""
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Setup:
    """The stage, its configuration, the input's columns and the task's dictionaries."""

    stage: Stage
    config: dict[str, Any]
    """The stage's configuration as JSON; empty where the pipeline has none."""
    input: tuple[Field, ...]
    dictionaries: tuple[Dictionary, ...]

    @classmethod
    def from_contract(cls, raw: Any) -> Self:
        config = json.loads(raw.config)
        if not isinstance(config, dict):
            raise Failure("bad-config", "the configuration is no JSON object")
        dictionaries = (Dictionary(of.name, of.key, tuple(read_fields(of.fields))) for of in raw.dictionaries)
        return cls(Stage[raw.stage.name], config, tuple(read_fields(raw.input)), tuple(dictionaries))

    def require_stage(self, *stages: Stage) -> None:
        """Refuses, with the failure `wrong-stage`, every stage that the transform does not serve."""
        if self.stage not in stages:
            served = ", ".join(stage.value for stage in stages)
            raise Failure("wrong-stage", f"this transform serves {served}, not {self.stage.value}")

    def require_keys(self, *keys: str) -> None:
        """Refuses, with the failure `bad-config`, a configuration with other keys: a mistyped one is found at once."""
        for key in self.config:
            if key not in keys:
                known = ", ".join(keys) or "none"
                raise Failure("bad-config", f"the configuration has the key `{key}`; known are {known}")

    def field(self, name: str) -> Field | None:
        """The input column of this name."""
        return next((field for field in self.input if field.name == name), None)

    def dictionary(self, name: str) -> Dictionary:
        """The dictionary of this name, or the failure `missing-dictionary`."""
        for dictionary in self.dictionaries:
            if dictionary.name == name:
                return dictionary
        raise Failure(
            "missing-dictionary", f"the pipeline has no dictionary `{name}`: add it under transforms.dictionaries"
        )
