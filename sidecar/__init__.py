"""The server: it composes the protocol (`conformance`) and the agents (`adapters`) into one ASGI application."""
