/** Keeps the page as high as what is visible of it: the keyboard of an iPhone covers a part of the window. */
export function followVisibleHeight(): void {
  const viewport = globalThis.visualViewport;
  viewport?.addEventListener("resize", () => {
    // Who has zoomed in looks at a part on purpose.
    const isCovered = viewport.scale === 1 && viewport.height < innerHeight;
    document.documentElement.style.height = isCovered ? `${viewport.height}px` : "";
    if (isCovered) scrollTo(0, 0);
  });
}
