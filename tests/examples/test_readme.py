"""What the README tells a newcomer to do, done as it says: its commands, its client, its agents.

An installation is looked at, not made: the tests run in one.
"""

import re
import shlex
import subprocess
import tomllib

import httpx
import pytest
from support.agents import run_input
from support.blocks import blocks
from support.command import ROOT, serving
from support.pages import dead_links
from support.server import serving as serving_adapters
from support.streams import judge, parse_sse

from adapters.detect import adapter_for

URL = "http://127.0.0.1:8000"
SERVED, GRAPH = "Serve your own agent", "A graph"

SHELL = [block for block in blocks("README.md", "sh") if block.heading in ("Run it", "Connect a client", SERVED, GRAPH)]
PYTHON = [block for block in blocks("README.md", "python") if block.heading == SERVED]
CLIENTS = blocks("README.md", "js")

SERVE = "agui-sidecar serve "
COMMANDS = [line for block in SHELL for line in block.lines]


def exported(command):
    """What the block of a command exports before it."""
    (lines,) = [block.lines for block in SHELL if command in block.lines]
    return dict(line.removeprefix("export ").split("=", 1) for line in lines if line.startswith("export "))


def test_every_command_is_of_a_kind_that_is_tried_here():
    kinds = ("make demo", "pip install", "npm install", "export", "curl", "node", SERVE)
    assert [one for one in COMMANDS if not one.startswith(kinds)] == []
    assert {kind for kind in kinds for one in COMMANDS if one.startswith(kind)} == set(kinds)


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.startswith(SERVE)])
def test_what_is_served_answers(command, tmp_path):
    env = {**exported(command), "TEA_SHOP": str(tmp_path / "tea-shop.db")}
    with serving(tmp_path, *shlex.split(command.removeprefix(SERVE)), env=env) as served:
        agents = httpx.get(f"{served.url}/agents").json()
    names = [one["name"] for one in agents["agents"]]
    assert names in (["shop", "demo"], [command.split()[2].partition(":")[2]])


def test_a_model_without_a_key_is_told_at_once(tmp_path):
    (command,) = [one for one in COMMANDS if "--model" in one]
    with pytest.raises(AssertionError, match="OPENAI_API_KEY"), serving(tmp_path, *shlex.split(command)[2:]):
        pass


@pytest.mark.parametrize(
    ("heading", "server", "told"),
    [
        ("Run it", "demo", "get_weather"),
        (SERVED, "example", '{"packets":{"oolong":1,"green":2}}'),
        (GRAPH, "graph", '"type":"SUBAGENT_STARTED"'),
    ],
)
def test_curl_shows_the_stream(heading, server, told, request):
    server = request.getfixturevalue(server)
    (command,) = [line for block in SHELL if block.heading == heading for line in block.lines if "curl" in line]
    assert URL in command
    done = subprocess.run(
        ["bash", "-c", command.replace(URL, server.url)], capture_output=True, check=True, text=True, timeout=60
    )
    assert told in done.stdout
    assert parse_sse(done.stdout.encode())[-1]["type"] == "RUN_FINISHED"


def test_the_demos_client_prints_the_text_and_the_state(page, node, demo):
    first, _, _ = CLIENTS
    said = run_page(first.text, page, node, demo)
    assert said.startswith("All tasks are done; look at the state.")
    assert "done: [ 'plan', 'build', 'test' ]" in said


@pytest.mark.parametrize(("client", "server"), [(CLIENTS[1], "example"), (CLIENTS[2], "graph")])
def test_the_shops_client_prints_what_it_says_that_it_prints(client, server, page, node, request):
    expected = re.findall(r"^console\.log\(.*\); // (.*)$", client.text, re.MULTILINE)
    assert len(expected) == client.text.count("console.log") > 1
    assert run_page(client.text, page, node, request.getfixturevalue(server)).splitlines() == expected


def test_the_shops_client_plays_at_the_graph_as_well(page, node, example, graph):
    """But for the words in which LangChain asks for consent."""
    agents = run_page(CLIENTS[1].text, page, node, example).splitlines()
    graphs = run_page(CLIENTS[1].text, page, node, graph).splitlines()
    assert [line for line in graphs if line not in agents] == ["Order what is in the cart?"]
    assert len(graphs) == len(agents)


def run_page(script, page, node, server):
    assert URL in script
    (page / "shop.mjs").write_text(script.replace(URL, server.url))
    done = subprocess.run(
        ["node", "shop.mjs"], cwd=page, env=node, capture_output=True, check=False, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("shown", "module"), [(PYTHON[0], "pydantic_ai_agent"), (blocks("README.md", "python")[2], "langgraph_agent")]
)
def test_the_readme_shows_lines_of_the_example(shown, module):
    rest = iter((ROOT / "examples" / f"{module}.py").read_text().splitlines())
    lines = [line.removesuffix(" ...") for line in shown.lines]
    assert [line for line in lines if line not in rest] == []  # in their order


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("block", "text"), [(PYTHON[0], "in the cart"), (PYTHON[1], "Hello world")], ids=["ai", "plain"]
)
async def test_what_the_readme_shows_can_be_served(block, text, execute):
    adapter = adapter_for(execute(block.text)["agent"])
    async with serving_adapters({"agent": adapter}) as served:
        _, events = await served.run(run_input(messages=[{"id": "u1", "role": "user", "content": "Add some."}]))
    assert judge(events, thread_id="t1") == []
    assert text in "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


def test_installations_name_extras_that_there_are():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = {
        extra
        for page in ("README.md",)
        for block in blocks(page, "sh")
        for extra in re.findall(r"'\.\[(.+?)\]'", block.text)
    }
    assert asked == {"pydantic-ai", "langgraph", "conformance"}
    assert asked <= project["project"]["optional-dependencies"].keys()


def test_the_pages_that_the_readme_links_to_are_there():
    assert "(docs/pydantic-ai.md)" in (ROOT / "README.md").read_text()
    assert dead_links("README.md") == []
