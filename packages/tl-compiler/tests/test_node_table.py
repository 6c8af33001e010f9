"""The table of nodes that `Graph.print_tabular` prints."""

from tl_compiler.fx import symbolic_trace

# From PyTorch 2.13.
TABLE = """\
opcode       name    target    args     kwargs
-----------  ------  --------  -------  --------
placeholder  x       x         ()       {}
call_method  relu    relu      (x,)     {}
output       output  output    (relu,)  {}
"""


def test_columns_are_wider_than_their_headings(capsys):
    symbolic_trace(lambda x: x.relu()).graph.print_tabular()
    assert capsys.readouterr().out == TABLE
