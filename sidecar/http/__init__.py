"""HTTP: the only part that knows of Starlette."""
