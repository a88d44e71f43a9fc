"""Agents to copy from. Served from the checkout: `agui-sidecar serve examples.pydantic_ai_agent:agent`, or `examples.langgraph_agent:graph`."""
