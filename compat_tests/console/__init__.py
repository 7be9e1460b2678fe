"""The console in headless Chromium: what a person sees and does, and what strangers' bytes do not do."""
