"""Settings that all tests share."""

import signal

from hypothesis import settings

# A time never decides a test.
settings.register_profile("forum", deadline=None)
settings.load_profile("forum")

# A shell that runs the tests in the background lets them ignore interrupts, and so every program that they start and
# interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
