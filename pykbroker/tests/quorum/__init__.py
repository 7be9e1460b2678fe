"""A quorum of controllers that a model plays, and a node of ours that observes it."""
