"""The public clients read all that was heard here: to its end, without a word, and to the same conversation.

Neither differs from our consumer in any of it. A difference that comes up is explained here by the page of the
specification that says who is right, stream by stream. Run the whole directory: alone, there is nothing to read here.
"""

from support.readers import Streams


class TestStreams(Streams):
    """Nothing differs."""
