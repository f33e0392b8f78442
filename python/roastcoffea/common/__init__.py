"""Used everywhere: failures that become notes, marks on the user's objects, texts, missing packages."""
