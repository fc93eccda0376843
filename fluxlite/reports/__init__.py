"""What is where, in words: `explain` draws a model with its devices, `doctor` says what this computer can use."""
