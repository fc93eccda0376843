// Notebook 7 would move to another cell by the keys that move a knob. It listens early; we do so earlier.
if (!window.fluxliteKeys) {
  window.fluxliteKeys = (event) => {
    const inside = event.target.closest?.(".fluxlite-scene, .fluxlite-keys");
    if (!inside) return;
    event.stopPropagation();
    if (inside.fluxliteKey?.(event.target, event.key)) event.preventDefault();
    const cell = inside.closest(".jp-Cell");
    if (!cell || event.key !== "Enter" || !(event.shiftKey || event.ctrlKey)) return;
    // Shift+Enter runs a cell, from a picture's button too.
    event.preventDefault();
    const { key, code, shiftKey, ctrlKey } = event;
    const again = { key, code, keyCode: 13, shiftKey, ctrlKey, bubbles: true, cancelable: true };
    event.target.blur();
    cell.closest(".jp-Notebook")?.focus();
    cell.dispatchEvent(new KeyboardEvent("keydown", again));
  };
  window.addEventListener("keydown", window.fluxliteKeys, true);
}
