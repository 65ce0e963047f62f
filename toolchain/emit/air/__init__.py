"""AIR, the code of Apple's GPUs: text with typed pointers, its bitcode, and the container that Metal loads."""
