"""One package per agent framework: each translates what its agent does into steps, and nothing more."""
