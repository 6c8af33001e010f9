"""Types with unknown sizes as constraints that the solver z3 decides.

`transform_to_z3` goes the whole way: `constraint_generator` says what a graph asks of the types of its values,
`constraint_transformation` resolves that into comparisons of sizes, for tensors of at most four dimensions. Needs the
package z3-solver.
"""
