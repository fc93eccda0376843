"""The course's moving pictures: each file has a function that draws one moment, and one that draws all of them.

They're drawn once, from the library's own numbers, so moving a slider computes nothing.
"""
