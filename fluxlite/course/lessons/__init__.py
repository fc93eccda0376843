"""One file per lesson: the answers to its questions, and the checks of its exercises."""
