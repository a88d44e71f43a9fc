"""The command `agui-conformance`: what it reads, what it asks of an endpoint, and how it reports."""
