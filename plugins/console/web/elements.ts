import type { PanelTools } from "propylon/panels";

type Tag = keyof HTMLElementTagNameMap;
type Members<T extends Tag> = Partial<HTMLElementTagNameMap[T]> & {
  /** Attributes: not every browser has members for them. */
  readonly marks?: Readonly<Record<string, string>>;
};

/** An element with what stands in it. Whatever agents and people wrote gets in as text, never as markup. */
export function make<T extends Tag>(
  tag: T,
  { marks = {}, ...members }: Members<T> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[T] {
  const element = Object.assign(document.createElement(tag), members);
  for (const [name, value] of Object.entries(marks)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A field with its label; beside and not around: the options of a list would be part of its name. */
export function withLabel(text: string, field: HTMLElement): HTMLElement {
  field.id = text;
  field.dataset["effect"] = "field";
  const label = make("label", { textContent: text, htmlFor: text });
  return make("div", { className: "field" }, label, field);
}

/** Shows options in place of others; what was chosen stays so as long as it is there. */
export function setOptions(
  select: HTMLSelectElement,
  options: readonly (readonly [value: string, text: string])[],
): void {
  const drawn = [...select.options].map(({ value, text }) => [value, text]);
  // One that is open would close.
  if (JSON.stringify(drawn) === JSON.stringify(options)) return;
  const before = select.value;
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  if (options.some(([value]) => value === before)) select.value = before;
}

/** Makes a button do nothing and say why; it stays in the order of the keys. */
export function setRefusal(button: HTMLButtonElement, reason: string | undefined): void {
  button.title = reason ?? "";
  if (reason === undefined) button.removeAttribute("aria-disabled");
  else button.setAttribute("aria-disabled", "true");
}

/** A button that copies a request for a shell, as it is at that moment. */
export function copyButton({ notify }: PanelTools, command: () => string): HTMLElement {
  const marks = { "data-effect": "copy" };
  const button = make("button", { type: "button", className: "quiet", marks }, "Copy as curl");
  button.onclick = () => {
    // Pages over plain HTTP from another machine have no clipboard.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const text = command();
    const copied = clipboard?.writeText(text) ?? Promise.reject(new Error());
    copied.then(
      () => notify("Copied."),
      () => notify(text),
    );
  };
  return button;
}

/** What the gateway said of a request that it refused, and what to do about it. */
export function sentenceOf(failure: unknown): string {
  const { message, hint = "" } = failure as { readonly message: string; readonly hint?: string };
  return `${message} ${hint}`.trim();
}
