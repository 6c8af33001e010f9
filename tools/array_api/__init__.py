"""The official tests of the Array API standard on tl."""
