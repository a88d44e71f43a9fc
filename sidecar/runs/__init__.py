"""Runs: from an adapter's steps to finished events, and the task that carries each run."""
