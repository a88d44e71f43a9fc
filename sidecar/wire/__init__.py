"""The wire: which copy of the stream a reader gets, how events become bytes, and who writes them."""
