"""Settings that all tests share."""

from hypothesis import settings

# A time never decides a test.
settings.register_profile("forum", deadline=None)
settings.load_profile("forum")
