"""All settings, in one frozen model. A later source is stronger: environment, sidecar.toml, flags.

In the environment a setting is `AGUI_` and its name in capitals; in `sidecar.toml` it stands at the top; as a flag it
is `--its-name`. An unknown key is an error everywhere.
"""

import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from sidecar.errors import ConfigurationError

PREFIX = "AGUI_"
DEFAULT_FILE = "sidecar.toml"
NOT_SETTINGS = frozenset({"AGUI_CORPUS", "AGUI_NODE_BIN"})
"""Names in the environment with our prefix that the tests read."""


class Settings(BaseSettings):
    """How the server runs. Times are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", use_attribute_docstrings=True)

    agents: dict[str, str] = Field(default_factory=dict)
    """The agents to serve, as name = "module:object"; the first is the default."""
    model: str | None = None
    """The model that all agents ask instead of their own, such as openai:gpt-5.2."""
    models: dict[str, str] = Field(default_factory=dict)
    """The model of single agents, as name = "provider:model"; it goes before the one of all."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for all."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on; 0 for any free one."""
    max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024)
    """Largest request body; a larger one is refused with 413."""
    max_depth: int = Field(default=100, ge=5, le=200)
    """Deepest nesting of lists and objects in a request body."""
    keep_alive: float = Field(default=15.0, gt=0)
    """Longest silence on a stream before a comment is sent."""
    stop_grace: float = Field(default=1.0, ge=0)
    """How long a stopped or failed agent may take to clean up before its reader is sent the end without it."""
    shutdown_grace: float = Field(default=5.0, ge=0)
    """How long a shutdown waits for the runs to end."""
    cors_origins: list[str] = Field(default_factory=list)
    """Origins whose pages may call this server, such as http://localhost:3000; "*" for any."""
    log_format: Literal["console", "json"] = "console"
    """How logs are written."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least important log lines to write."""
    debug: bool = False
    """Show readers the text of internal errors. Never in production."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read what is given (the file's and the flags', merged by `load`), then the environment."""
        return init_settings, env_settings


def load(flags: Mapping[str, Any], file: Path | None = None) -> Settings:
    """Gather the settings.

    Args:
        flags: What the command line says, by setting.
        file: A settings file; without one, `sidecar.toml` of the working directory, if it is there.

    Raises:
        ConfigurationError: A key is unknown, or a value is wrong; it says where, and what was expected.
    """
    _check_environment(os.environ)
    path = file or Path(DEFAULT_FILE)
    written = _read(path) if file is not None or path.exists() else {}
    _check_keys(written, str(path))
    try:
        return Settings(**{**written, **flags})
    except ValidationError as error:
        raise ConfigurationError(_explain(error, written, flags, str(path))) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: it cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: it is not TOML: {error}") from None


def _check_keys(written: Mapping[str, Any], where: str) -> None:
    for key in written:
        if key not in Settings.model_fields:
            raise ConfigurationError(f"{where}: there is no setting {key!r}{_meant(key)}")


def _check_environment(environment: Mapping[str, str]) -> None:
    for name in environment:
        if not name.startswith(PREFIX) or name in NOT_SETTINGS:
            continue
        key = name.removeprefix(PREFIX).lower()
        if key not in Settings.model_fields:
            raise ConfigurationError(f"{name} in the environment: there is no setting {key!r}{_meant(key)}")


def _meant(key: str) -> str:
    close = get_close_matches(key, Settings.model_fields, 1)
    return f"; did you mean {close[0]!r}?" if close else "; agui-sidecar serve --help lists them"


def _explain(error: ValidationError, written: Mapping[str, Any], flags: Mapping[str, Any], file: str) -> str:
    first = error.errors()[0]
    key = str(first["loc"][0])
    if key in flags:
        where = f"--{key.replace('_', '-')}"
    else:
        where = f"{file}: {key}" if key in written else f"{PREFIX}{key.upper()} in the environment"
    return f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}, not {first['input']!r}"
