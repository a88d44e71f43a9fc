"""From an object to its adapter."""

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from adapters.detect import NoAdapter, adapter_for
from adapters.echo import Echo
from adapters.pydantic_ai import PydanticAI


def test_an_object_with_the_two_methods_is_its_own_adapter():
    echo = Echo()
    assert adapter_for(echo) is echo


def test_an_agent_of_pydantic_ai_gets_its_adapter():
    assert isinstance(adapter_for(Agent(TestModel())), PydanticAI)


@pytest.mark.parametrize("found", [5, "agent", None, object(), lambda: None])
def test_anything_else_is_refused_with_what_would_do(found):
    with pytest.raises(NoAdapter, match="is no agent; name a "):
        adapter_for(found)


def test_a_class_is_refused_with_a_hint():
    with pytest.raises(NoAdapter, match="Echo is a class; name an instance of it"):
        adapter_for(Echo)
