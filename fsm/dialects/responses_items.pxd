# Pure functions: nothing to declare, compiled as they stand.
