"""What the examples share: options, arrays on the factor's device, and the picture."""

import argparse
import io

import numpy as np


def arguments(description, output, **numbers):
    """The command line: --device, --output, and an option for each number."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help='"cpu" or "cuda"; default: the GPU if there is one')
    parser.add_argument("--output", default=output)
    for name, value in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


def arrays(factor):
    """How vectors and sparse matrices get to the factor's device, how vectors get back, and how to wait for it."""
    if factor.device == "cpu":
        return np.asarray, lambda A: A, np.asarray, lambda: None
    import cupy
    import cupyx.scipy.sparse as csp

    return cupy.asarray, csp.csr_matrix, cupy.asnumpy, cupy.cuda.runtime.deviceSynchronize


def save(figure, title, output):
    """Write the picture with its title, in 256 colours, which makes a small file."""
    from PIL import Image  # comes with matplotlib

    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110)
    Image.open(buffer).convert("RGB").quantize(256, kmeans=2, dither=Image.Dither.NONE).save(output, "PNG", optimize=True)
    print(f"wrote {output}")
