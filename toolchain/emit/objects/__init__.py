"""What vendors' drivers load: PTX as it is noted, and AMD's code objects, linked here."""
