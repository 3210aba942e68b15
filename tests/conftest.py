"""Settings that all tests share."""

import signal

from hypothesis import settings

# A time never decides a test.
settings.register_profile("forum", deadline=None)
settings.load_profile("forum")

# A shell that runs the tests in the background lets them ignore interrupts, `nohup` hangups, and so does every program
# that they start and signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
