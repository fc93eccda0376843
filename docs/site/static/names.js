// The theme leaves the arrows of the sidebar without a name, for readers who hear a page instead of seeing it.
addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll("a + details > summary")) {
    arrow.ariaLabel = `Pages of ${arrow.parentElement.previousElementSibling.textContent.trim()}`;
  }
});
