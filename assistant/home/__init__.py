"""The devices of a home, whoever switches them."""
