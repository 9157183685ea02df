# Compiled as it stands (see setup.py): nothing here needs a C type.
