"""The public clients read all that was heard here: to its end, without a word, and to the same conversation.

What may differ is explained, test by test. Run the whole directory: alone, there is nothing to read here.
"""

from support.readers import Streams

EXPLAINED = {
    ("test_what_json_does_not_have_in_the_state", "state"): "JavaScript has no integer that large",
}


class TestStreams(Streams):
    """All but what is explained."""

    explained = EXPLAINED
