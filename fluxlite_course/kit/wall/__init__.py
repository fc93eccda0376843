"""The wall: a page for the projector that shows a class's guesses as they come in. ``python -m fluxlite wall``.

Read in this order: `hearing`, what a message may hold; `room`, all that is known; `view`, what a page is told of it;
`server`, which listens; `folder`, a shared folder as another source; `letters`, guesses on paper. `opening` is the
command. `sending` is the learner's side: `join` and `leave`.
"""
