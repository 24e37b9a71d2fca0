"""Call sites that can block, their contexts in the call graph, and their cooperation."""
