"""Where fluxlite and simgpu keep what isn't public. Tests take such names from here, so a move changes this file alone.

``from inside import parameter_key`` gives `fluxlite.tree.ties.parameter_key`. Take a public name, ``fl.…``, wherever it
shows the same.
"""

import importlib
from typing import Any

NAMES = {
    "annotations": "Array LibraryArray",
    "array_kinds": "array_kind several_cards",
    "layers.activations": "identity",
    "arrays": "add_at by_element device_of library_of refuse_tensor tensor_in_words",
    "autodiff.derivatives.elementwise": "unbroadcast",
    "autodiff.derivatives.rarer.linear_algebra": "eigenvectors euclidean logabsdet product_of_rows "
    "sign_of_determinant singular_values singular_vectors",
    "autodiff.derivatives.rarer.shaping": "pad_with running_product",
    "autodiff.derivatives.windows": "Windows convolve convolve_back convolve_kernel",
    "autodiff.freezing": "Level",
    "autodiff.gradients": "Marked as_gradient totals_of is_number new_level call_numbers",
    "autodiff.rules": "COMPOSED PLAIN RULES composed load_rarer rule rule_for_each zero_except_where zero_where",
    "autodiff.tracked": "name_of plain",
    "autodiff.backward": "pull_back",
    "saving.files": "FileFormatError",
    "capturing.interrupts": "uninterrupted",
    "data.loader": "AHEAD MovedLoader done_ahead",
    "devices.base": "SETTINGS DeviceID Functional",
    "devices.selection": "BACKENDS Backend choose preference_file stored_backend",
    "devices.cupy.device": "CUDADevice PinnedCopies cupy_devices",
    "devices.cupy.random": "CupyGenerator",
    "devices.metal.array": "MetalArray",
    "devices.metal": "metal_devices metal_functional",
    "devices.metal.device": "MetalDevice",
    "devices.metal.functions": "ON_ARRAYS ON_VALUES OF_LAYOUTS UFUNCS",
    "devices.simulated": "EstimatedDevice",
    "distributed.__main__": "main",
    "distributed.sums": "begin_sum",
    "layers.layer": "misplaced",
    "layers.normalization": "Moments standardized",
    "layers.recurrent": "pullback_of_sequence sequence",
    "messages": "in_notebook ipython notice put_aside warn",
    "words": "ClosedError DeviceError InputError LayerError ShapeError in_words",
    "devices.receipts": "clocked duration shapes_only",
    "reports": "DrawnRow as_html as_text",
    "simgpu.clocks": "HostClock Lanes",
    "simgpu.device": "CountedGenerator SimulatedGenerator",
    "simgpu.events": "Event HOST_TO_DEVICE LAUNCH listeners",
    "simgpu.jit.figures": "card_of",
    "simgpu.jit.memory": "Part Ref reach",
    "simgpu.jit.races": "ATOMIC Log READ WRITE",
    "simgpu.launches": "tiles",
    "simgpu.lines": "text_of",
    "simgpu.memory": "OutOfMemoryError Stored",
    "simgpu.places": "PerformanceWarning",
    "simgpu.presets": "ARCHITECTURES PRESETS Preset preset",
    "simgpu.values": "DIFFERENT",
    "simgpu.words": "word_set",
    "training": "History",
    "training.loop": "Bar Interrupts",
    "tree.flat": "Attribute",
    "tree.rows": "root_row",
    "tree.ties": "is_array is_trainable_array lies_alike overlaps parameter_key view_as",
    "tree.walks": "nodes",
    "optim.update": "Leaf",
    "writing": "whole_file write_whole",
}  # fmt: skip
# Modules, and names that two modules have.
OTHERS = {
    "activations": "layers.activations",
    "arrays": "arrays",
    "bar": "training.loop",
    "coming_from": "coming_from",
    "derivatives": "autodiff.derivatives.rarer",
    "device": "devices.cupy.device",
    "explanation_described": "reports:describe",
    "files": "saving.files",
    "format": "saving.format",
    "lanes": "simgpu.jit.lanes",
    "launch": "simgpu.jit.launch",
    "optimizers": "optim.rules",
    "flat": "tree.flat",
    "gradients": "autodiff.gradients",
    "messages": "messages",
    "words": "words",
    "metal_device": "devices.metal.device",
    "real_listeners": "devices.base:listeners",
    "races": "simgpu.jit.races",
    "recording": "simgpu.profile.recording",
    "simulated_gpu": "devices.simulated",
    "recurrent": "layers.recurrent",
    "svg_pictures": "simgpu.profile.pictures",
    "arithmetic": "simgpu.arithmetic",
    "types": "simgpu.jit.types",
    "usable": "devices.cupy.usable",
    "windows": "autodiff.derivatives.windows",
}
_PLACES = {name: f"{module}:{name}" for module, names in NAMES.items() for name in names.split()} | OTHERS


def __getattr__(name: str) -> Any:
    try:
        module, _, inside = _PLACES[name].partition(":")
    except KeyError:
        raise AttributeError(f"inside has no {name!r}: enter where it is") from None
    found = importlib.import_module(module if module.startswith("simgpu.") else f"fluxlite.{module}")
    return getattr(found, inside) if inside else found
