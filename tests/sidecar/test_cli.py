"""The command line: a mistake is one line that says what to do, and exit code 2."""

import pytest

from sidecar.cli import main
from sidecar.settings import Settings

TAKES = """
from adapters.echo import Echo

class Takes(Echo):
    model = "its own"

    def with_model(self, model):
        if ":" not in model:
            raise ValueError(f"unknown model:\\n{model}")
        other = Takes()
        other.model = model
        return other

agent = Takes()
"""


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text("from adapters.echo import Echo\nagent = Echo()\nnumber = 5\nclass Kind: pass\n")
    (tmp_path / "takes.py").write_text(TAKES)
    (tmp_path / "needs.py").write_text("import pydantic_ai_that_is_missing\n")
    (tmp_path / "extra.py").write_text("raise ModuleNotFoundError('No module', name='langgraph.graph')\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    return tmp_path


MISTAKES = {
    "no agent": ([], "there is no agent to serve; name one: agui-sidecar serve module:object"),
    "no object": (["good"], "'good' names no agent; write module:object, for example my_module:agent"),
    "no module": (["nowhere:agent"], "'nowhere:agent': there is no module 'nowhere' here or in the environment"),
    "no attribute": (["good:agnt"], "'good:agnt': good has no 'agnt'; it has Echo, Kind, agent, number"),
    "another type": (
        ["good:number"],
        "'good:number': int is no agent; name a pydantic_ai.Agent, a compiled LangGraph graph, or an object with",
    ),
    "a class": (["good:Echo"], "'good:Echo': Echo is a class; name an instance of it"),
    "a missing package": (
        ["needs:agent"],
        "needs needs 'pydantic_ai_that_is_missing'; install it: pip install pydantic_ai_that",
    ),
    "a missing extra": (
        ["extra:agent"],
        "extra needs 'langgraph.graph'; install it: pip install 'agui-sidecar[langgraph]'",
    ),
    "a broken module": (["broken:agent"], "importing it failed with ZeroDivisionError: division by zero"),
    "one name twice": (["good:agent", "other:agent"], "two agents are called 'agent'; name them: NAME=other:agent"),
    "a bad name": (["a/b=good:agent"], "agent name 'a/b': use letters, digits, '.', '_' and '-', at most 64"),
    "a bad setting": (["good:agent", "--port", "x"], "--port: input should be a valid integer"),
    "a model for an agent that takes none": (
        ["takes:agent", "echo=good:agent", "--model", "openai:gpt-5.2"],
        "model 'openai:gpt-5.2': agent 'echo' (Echo) has a model of its own, or none, and takes no other; leave --model",
    ),
    "a model that there is not": (
        ["takes:agent", "--model", "gpt"],
        "model 'gpt' of agent 'agent': ValueError: unknown model: gpt",
    ),
    "a missing file": (["good:agent", "--config", "none.toml"], "none.toml: it cannot be read"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, capsys):
    assert main(["serve", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("agui-sidecar: ")
    assert message in said
    assert said.count("\n") == 1


def test_an_unknown_flag_is_a_mistake_too(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["serve", "good:agent", "--prot", "1"])
    assert caught.value.code == 2
    assert "unrecognized arguments: --prot 1" in capsys.readouterr().err


def test_help_shows_every_setting_with_its_default(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["serve", "--help"])
    assert caught.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, field in Settings.model_fields.items():
        if name in ("agents", "models"):
            continue
        default = field.get_default(call_default_factory=True)
        shown = str(default).lower() if isinstance(default, bool) else default or "none"
        assert f"--{name.replace('_', '-')}" in text
        assert f"(default: {shown})" in text


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip().count(".") == 2


@pytest.fixture
def served(monkeypatch):
    """What would be served."""
    served = []
    monkeypatch.setattr("sidecar.server.serve", lambda agents, settings: served.append((agents, settings)))
    return served


def test_agents_and_settings_are_handed_to_the_server(served, place):
    (place / "sidecar.toml").write_text('[agents]\nfrom_file = "good:agent"\n')
    assert main(["serve"]) == 0
    assert (
        main(
            [
                "serve",
                "one=good:agent",
                "good:agent",
                "--port",
                "0",
                "--debug",
                "--cors-origins",
                "http://a",
                "http://b",
            ]
        )
        == 0
    )
    assert [agent.name for agent in served[0][0]] == ["from_file"]
    agents, settings = served[1]
    assert [agent.name for agent in agents] == ["one", "agent"]
    assert agents.default.name == "one"
    assert (settings.port, settings.debug, settings.cors_origins) == (0, True, ["http://a", "http://b"])


def models_served(served):
    return {agent.name: getattr(agent.adapter, "model", None) for agent in served.pop()[0]}


def test_a_model_goes_to_every_agent_and_leaves_the_imported_one_as_it_is(served, place):
    assert main(["serve", "a=takes:agent", "b=takes:agent", "--model", "openai:x"]) == 0
    assert models_served(served) == {"a": "openai:x", "b": "openai:x"}
    assert main(["serve", "takes:agent"]) == 0
    assert models_served(served) == {"agent": "its own"}


def test_a_model_may_come_from_the_file_or_the_environment(served, place, monkeypatch):
    monkeypatch.setenv("AGUI_MODEL", "openai:environment")
    assert main(["serve", "takes:agent"]) == 0
    assert models_served(served) == {"agent": "openai:environment"}
    (place / "sidecar.toml").write_text('model = "openai:file"')
    assert main(["serve", "takes:agent"]) == 0
    assert models_served(served) == {"agent": "openai:file"}


def test_single_agents_may_have_models_of_their_own(served, place, capsys):
    (place / "sidecar.toml").write_text('[models]\none = "openai:one"\n')
    assert main(["serve", "one=takes:agent", "two=takes:agent", "three=good:agent"]) == 0
    assert models_served(served) == {"one": "openai:one", "two": "its own", "three": None}
    assert main(["serve", "one=takes:agent", "two=takes:agent", "--model", "openai:all"]) == 0
    assert models_served(served) == {"one": "openai:one", "two": "openai:all"}
    assert main(["serve", "two=takes:agent"]) == 2
    assert capsys.readouterr().err == "agui-sidecar: models: no agent is called 'one'; this server has two\n"
