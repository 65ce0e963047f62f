"""Files that vendors' drivers load: PTX with notes, and AMD's code objects; the host's assembly for readers."""
