"""Named tuples of which one is made for every call or entry.

`made(Type, (field, ...))` takes all fields, in their order. It is several times as fast as `Type(field, ...)`, which is
a function written in Python.
"""

made = tuple.__new__
