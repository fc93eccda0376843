"""What a program asked of the devices: `receipt` counts it, `estimate` and `clock` say how long it takes."""
