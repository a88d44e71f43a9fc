"""The AG-UI protocol as pure data and functions, and the suite that judges producers with them.

Nothing here does I/O or knows of a server. The sidecar holds its live streams to the same tables.
"""
