"""The judge as a program under test: it speaks the protocol of PROTOCOL.md with the judge's own code."""
