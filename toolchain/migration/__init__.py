"""From edition 2025 to edition 2026: the new text, and the places that somebody has to look at."""
