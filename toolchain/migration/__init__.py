"""From edition 2025 to edition 2026: what a text becomes, and what somebody has to look at."""
