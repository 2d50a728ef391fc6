"""How smooth a random field is, and where: fitted to samples by gradients through solves and log-determinants, in PyTorch.

A Gaussian Markov random field has the precision matrix Q = kappa^2 I + sum over the grid's edges of c_e (e_i - e_j) (e_i - e_j)'.
Its conductivities c vary in space: log c is interpolated between 6 x 6 knots. Given samples with noise, y = x + sigma e, the negative
log-likelihood is, with P = Q + I / sigma^2 and for k samples,

    k/2 (log det P - log det Q + 2 n log sigma) + (|Y|^2 / sigma^2 - trace(Y' P^-1 Y) / sigma^4) / 2

Q and P are tensors of numbers on one pattern, so PyTorch differentiates all of it with respect to kappa, sigma and the knots.
scikit-sparse computes the same gradient by finite differences for comparison, if it is installed.

    python likelihood.py [--side 40] [--samples 50] [--steps 40] [--device cpu] [--output likelihood.png]
"""

import time
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from picture import arguments, save

import gpusolve

try:
    import torch

    import gpusolve.autograd
except ImportError:
    raise SystemExit("likelihood.py needs PyTorch, which is not installed") from None

KNOTS = 6


class Field:
    """The likelihood as a differentiable function of the parameters: log kappa, log sigma, log c at the knots."""

    def __init__(self, side, device):
        self.n = side * side
        node = np.arange(self.n).reshape(side, side)
        tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
        head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
        self.tail, self.head = torch.as_tensor(tail), torch.as_tensor(head)
        rows, cols = np.concatenate([np.arange(self.n), head]), np.concatenate([np.arange(self.n), tail])
        self.place = rows, cols
        self.patterns = [gpusolve.autograd.Pattern(rows, cols, self.n, device=device) for _ in range(2)]
        hat = np.maximum(0, 1 - abs(np.linspace(0, KNOTS - 1, side)[:, None] - np.arange(KNOTS)))  # bilinear
        self.to_points = torch.as_tensor(np.kron(hat, hat))
        self.to_edges = (self.to_points[self.tail] + self.to_points[self.head]) / 2

    def values(self, parameters):
        """The lower triangles of Q and of P, and log sigma."""
        c = torch.exp(self.to_edges @ parameters[2:])
        diagonal = torch.exp(2 * parameters[0]).expand(self.n).index_add(0, self.tail, c).index_add(0, self.head, c)
        return (torch.cat([diagonal, -c]), torch.cat([diagonal + torch.exp(-2 * parameters[1]), -c]), parameters[1])

    def loss(self, parameters, y, patterns=None):
        """Negative log-likelihood over n k."""
        Q, P = patterns or self.patterns
        q, p, log_sigma = self.values(parameters)
        k, precision = y.shape[1], torch.exp(-2 * log_sigma)
        determinants = P.logdet(p) - Q.logdet(q) + 2 * self.n * log_sigma
        squares = precision * (y**2).sum() - precision**2 * (y * P.solve(p, y)).sum()
        return (k * determinants + squares) / (2 * k * self.n)

    def matrix(self, values):
        lower = sp.csc_matrix((values.numpy(), self.place), shape=(self.n, self.n))
        return (lower + sp.tril(lower, -1).T).tocsc()


def by_scikit_sparse(matrix, values):
    """logdet and solve of a Pattern, by scikit-sparse and without gradients."""
    from sksparse.cholmod import analyze  # 0.5 has none

    factor, known = analyze(matrix(values), ordering_method="metis"), [values]
    factor.cholesky_inplace(matrix(values))

    def of(values):
        if not torch.equal(values, known[0]):
            factor.cholesky_inplace(matrix(values))
            known[0] = values
        return factor

    return SimpleNamespace(logdet=lambda values: of(values).logdet(),
                           solve=lambda values, b: torch.as_tensor(of(values)(b.numpy())))


def by_differences(field, at, y, step=1e-5):
    """The gradient by central differences, and its time. scikit-sparse's factors are freed at the end: interior.py says why."""
    peers = [by_scikit_sparse(field.matrix, values) for values in field.values(at)[:2]]
    start = time.perf_counter()
    differences = torch.stack([(field.loss(at + e, y, peers) - field.loss(at - e, y, peers)) / (2 * step)
                               for e in torch.eye(len(at), dtype=torch.float64) * step])
    return differences, time.perf_counter() - start


def main():
    options = arguments(__doc__, "likelihood.png", side=40, samples=50, steps=40)
    torch.manual_seed(7)
    field = Field(options.side, options.device)
    i, j = torch.meshgrid(torch.arange(KNOTS) / (KNOTS - 1), torch.arange(KNOTS) / (KNOTS - 1), indexing="ij")
    truth = torch.cat([torch.tensor([np.log(0.3), np.log(0.2)]), (2.5 * torch.sin(3 * i) * torch.cos(3 * j) + 0.5).ravel()]).double()
    with gpusolve.cholesky(field.matrix(field.values(truth)[0]), device=options.device) as F:
        x = F.solve(F.solve(torch.randn(field.n, options.samples, dtype=torch.float64), system="Lt"), system="Pt")
        device = F.info["device"]
    y = x + torch.exp(truth[1]) * torch.randn(x.shape, dtype=torch.float64)

    parameters = torch.zeros(len(truth), dtype=torch.float64, requires_grad=True)
    start = time.perf_counter()
    (gradient,) = torch.autograd.grad(field.loss(parameters, y), parameters)
    seconds = time.perf_counter() - start
    title = f"{field.n} unknowns, a gradient for {len(truth)} parameters: gpusolve on {device} {seconds:.2f} s"
    try:
        differences, seconds = by_differences(field, parameters.detach(), y)
        title += f", by differences with scikit-sparse {seconds:.2f} s"
        assert torch.allclose(gradient, differences, rtol=1e-4, atol=1e-6)
    except ImportError:
        title += " (scikit-sparse 0.4 is not installed)"
    print(title)

    optimizer, losses = torch.optim.LBFGS([parameters], lr=1, max_iter=options.steps, line_search_fn="strong_wolfe"), []

    def closure():
        optimizer.zero_grad()
        loss = field.loss(parameters, y)
        loss.backward()
        losses.append(loss.item())
        return loss

    optimizer.step(closure)
    found = parameters.detach()
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, at the truth {field.loss(truth, y).item():.4f}; kappa "
          f"{found[0].exp():.3f} (0.3), sigma {found[1].exp():.3f} (0.2)")
    assert losses[-1] < losses[0]

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(14, 3.7), width_ratios=(1, 1, 1, 0.9))
    limit = float(truth[2:].abs().max())
    for axis, values, name, span in ((axes[0], y[:, 0], "a sample with noise", float(y[:, 0].abs().max())),
                                     (axes[1], field.to_points @ truth[2:], "log c: the truth", limit),
                                     (axes[2], field.to_points @ found[2:], f"log c: found with {options.samples} samples", limit)):
        picture = axis.imshow(values.reshape(options.side, -1), origin="lower", cmap="RdBu_r", vmin=-span, vmax=span)
        figure.colorbar(picture, ax=axis, shrink=0.75)
        axis.set_title(name, fontsize=10)
        axis.set(xticks=[], yticks=[], xlabel="x", ylabel="y")
    axes[3].plot(np.minimum.accumulate(losses), "o-", markersize=3, label="the least so far")
    axes[3].axhline(field.loss(truth, y).item(), color="k", linewidth=0.8, linestyle="--", label="at the truth")
    axes[3].set(xlabel="evaluation of loss and gradient", ylabel="negative log-likelihood / (n k)")
    axes[3].legend(fontsize=8)
    save(figure, title, options.output)


if __name__ == "__main__":
    main()
