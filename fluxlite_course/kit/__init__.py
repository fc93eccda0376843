"""What every lesson uses: start, guess, check, progress, copies, handing in, a class, its wall."""
