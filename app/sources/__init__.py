"""Where code comes from when it lies in no directory here: git remotes and uploaded archives, kept as bare repositories."""
