"""Nonsense calls: every public function, method and operator of the language, with arguments nobody should give.

`python -m monkey --seed 1 --first 0 --count 500 --log calls.txt`, run in this package's parent folder, makes 500 of
them and writes each into the file before it is made. A call depends on the seed and its number alone.
"""
