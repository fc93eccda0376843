"""What is where, said in words: `explain` draws a model with its devices, `doctor` what this computer can use."""
