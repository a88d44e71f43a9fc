"""A tea shop's assistant: tools, one of which waits for consent, a cart that the page shares, a tool of the page.

agui-sidecar serve examples.pydantic_ai_agent:agent
"""

from typing import Literal

from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.ui import StateDeps

from examples.script import script

Tea = Literal["green", "black", "oolong"]
PRICES = {"green": 4.5, "black": 3.9, "oolong": 7.2}


class Cart(BaseModel):
    """The shared state: packets by tea. The page shows it while it changes, and may change it as well."""

    packets: dict[Tea, int] = {}


agent = Agent(
    script,  # needs no key; name a real model here, or serve with --model openai:gpt-5.2
    deps_type=StateDeps[Cart],
    instructions="You sell tea. Have customers choose with the page's tool `pick_tea`, where there is one.",
)


@agent.tool_plain
def price(tea: Tea) -> float:
    """Say what a packet of a tea costs, in euros."""
    return PRICES[tea]


@agent.tool
def add(context: RunContext[StateDeps[Cart]], tea: Tea, packets: int) -> str:
    """Put packets of a tea into the cart."""
    cart = context.deps.state.packets
    cart[tea] = cart.get(tea, 0) + packets
    return f"{cart[tea]} packets of {tea} tea are in the cart"


@agent.tool(requires_approval=True)
def order(context: RunContext[StateDeps[Cart]], note: str = "") -> str:
    """Order what is in the cart, with a note for the parcel. The customer is asked before."""
    cart = context.deps.state.packets
    total = sum(PRICES[tea] * packets for tea, packets in cart.items())
    cart.clear()
    return f"ordered for {total:.2f} euros" + (f", with the note {note!r}" if note else "")
