"""Graphs of LangGraph."""

from adapters.langgraph.adapter import LangGraph

__all__ = ["LangGraph"]
