"""Which devices this machine has, as their drivers say."""
