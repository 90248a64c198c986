type Tag = keyof HTMLElementTagNameMap;

/** Appends an element. Whatever agents and people wrote gets in as text, never as markup. */
export function make<T extends Tag>(
  parent: Element,
  tag: T,
  members: Partial<HTMLElementTagNameMap[T]> = {},
  data: Readonly<Record<string, string>> = {},
): HTMLElementTagNameMap[T] {
  const element = Object.assign(document.createElement(tag), members);
  Object.assign(element.dataset, data);
  return parent.appendChild(element);
}

/** Appends a field with its label. */
export function makeField<T extends "select" | "textarea">(
  parent: Element,
  tag: T,
  text: string,
): HTMLElementTagNameMap[T] {
  const box = make(parent, "div", { className: "field" });
  // Beside and not around: the options of a list would be part of its name.
  make(box, "label", { textContent: text, htmlFor: text });
  const field = make(box, tag, {}, { effect: "field" });
  field.id = text;
  return field;
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
  select.replaceChildren();
  for (const [value, textContent] of options) make(select, "option", { value, textContent });
  if (options.some(([value]) => value === before)) select.value = before;
}

/** Makes a button do nothing and say why; it stays in the order of the keys. */
export function setRefusal(button: HTMLButtonElement, reason: string | undefined): void {
  button.title = reason ?? "";
  if (reason === undefined) button.removeAttribute("aria-disabled");
  else button.setAttribute("aria-disabled", "true");
}
