import type { PanelTools } from "propylon/panels";
import { make } from "./elements.ts";

/** Appends a button that copies a request for a shell, as it is at that moment. */
export function makeCopy(
  parent: Element,
  { notify }: Pick<PanelTools, "notify">,
  command: () => string,
): void {
  const members = { type: "button", className: "quiet", textContent: "Copy as curl" } as const;
  make(parent, "button", members, { effect: "copy" }).addEventListener("click", () => {
    // Pages over plain HTTP from another machine have no clipboard.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const text = command();
    const copied = clipboard?.writeText(text) ?? Promise.reject(new Error());
    copied.then(
      () => notify("Copied."),
      () => notify(text),
    );
  });
}
