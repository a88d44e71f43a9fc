"""Settings come from the environment, the file and the flags, the later the stronger; an unknown key is an error."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from sidecar.errors import ConfigurationError
from sidecar.settings import Settings, load


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No settings of the machine that runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in ("AGUI_PORT", "AGUI_HOST", "AGUI_CORS_ORIGINS"):
        monkeypatch.delenv(name, raising=False)


def refused(*arguments, **flags):
    with pytest.raises(ConfigurationError) as caught:
        load(flags, *arguments)
    return str(caught.value)


def test_each_source_is_stronger_than_the_one_before(monkeypatch):
    assert load({}).port == 8000
    monkeypatch.setenv("AGUI_PORT", "1")
    assert load({}).port == 1
    Path("sidecar.toml").write_text("port = 2")
    assert load({}).port == 2
    assert load({"port": "3"}).port == 3


def test_a_file_may_be_named(tmp_path):
    other = tmp_path / "other.toml"
    other.write_text('[agents]\nsupport = "m:a"\n')
    Path("sidecar.toml").write_text("port = 2")
    settings = load({}, other)
    assert (settings.port, settings.agents) == (8000, {"support": "m:a"})
    assert "cannot be read" in refused(tmp_path / "none.toml")


def test_lists_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("AGUI_CORS_ORIGINS", '["http://a"]')
    assert load({}).cors_origins == ["http://a"]


def test_an_unknown_key_is_an_error_with_a_suggestion(monkeypatch):
    Path("sidecar.toml").write_text("prot = 2")
    assert refused() == "sidecar.toml: there is no setting 'prot'; did you mean 'port'?"
    Path("sidecar.toml").write_text("zzzz = 2")
    assert "--help lists them" in refused()
    Path("sidecar.toml").unlink()
    monkeypatch.setenv("AGUI_PROT", "2")
    assert refused() == "AGUI_PROT in the environment: there is no setting 'prot'; did you mean 'port'?"


def test_what_the_tests_read_is_no_setting(monkeypatch):
    monkeypatch.setenv("AGUI_CORPUS", "anywhere")
    assert load({}).port == 8000


def test_a_wrong_value_is_an_error_that_names_its_place(monkeypatch):
    assert refused(port="many").startswith("--port: input should be a valid integer")
    assert refused(log_format="xml").startswith("--log-format: input should be 'console' or 'json'")
    Path("sidecar.toml").write_text("port = 99999")
    assert refused().startswith("sidecar.toml: port: input should be less than or equal to 65535, not 99999")
    Path("sidecar.toml").unlink()
    monkeypatch.setenv("AGUI_PORT", "x")
    assert refused().startswith("AGUI_PORT in the environment: input should be a valid integer")


def test_a_file_that_is_no_toml_is_an_error():
    Path("sidecar.toml").write_text("port = ")
    assert refused().startswith("sidecar.toml: it is not TOML")
    Path("sidecar.toml").write_bytes(b"\xff")
    assert "it is not TOML" in refused()


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        Settings().port = 1


def test_every_setting_is_in_the_documentation():
    described = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for name, field in Settings.model_fields.items():
        assert re.search(
            rf"^\| `{name}` \|.*{re.escape(field.description.split('.')[0].split(';')[0])}", described, re.MULTILINE
        ), name
