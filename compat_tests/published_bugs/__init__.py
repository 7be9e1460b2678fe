"""Bugs of released clients, found in worlds and under chaos on the release before their fix, and not on the one after."""
