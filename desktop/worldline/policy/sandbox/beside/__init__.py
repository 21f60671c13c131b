"""Small programs that run beside the engine, outside the sandbox, and end with it: each reads its standard input, which
the kernel closes however the engine ends. Started by `python -I -S`; standard library only."""
