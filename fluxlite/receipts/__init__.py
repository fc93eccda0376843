"""What a program asks of its devices: `receipt` counts it, `estimate` and `clock` say how long it takes."""
