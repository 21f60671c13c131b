"""A loopback Messages API with scripted replies and faults: the demo and the tests speak to it through the real client."""
