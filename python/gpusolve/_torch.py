"""Gradients through solves, for PyTorch."""

import torch

__all__ = ["solve_with_gradient"]

# The system of the conjugate transpose.
ADJOINT = {"A": "A", "LDLt": "LDLt", "LD": "DLt", "DLt": "LD", "L": "Lt", "Lt": "L", "D": "D", "P": "Pt", "Pt": "P"}


class _Solve(torch.autograd.Function):
    """x = system \\ b. The gradient with respect to b is adjoint(system) \\ gradient of x, by another solve."""

    @staticmethod
    def forward(context, b, factor, system, stream):
        context.factor, context.system, context.stream = factor, system, stream
        context.is_real = not b.is_complex()
        context.dtype = b.dtype
        return factor.solve(b.detach(), system=system, stream=stream)

    @staticmethod
    def backward(context, gradient):
        x = _Solve.apply(gradient, context.factor, ADJOINT[context.system], context.stream)
        if context.is_real and x.is_complex():
            x = x.real
        return x.to(context.dtype), None, None, None


def solve_with_gradient(factor, b, system, stream):
    """factor.solve(b) for a b that wants a gradient."""
    return _Solve.apply(b, factor, system, stream)
