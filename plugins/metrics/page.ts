/** A page that is rendered at most once per period, however many ask for it: rendering takes milliseconds of the event loop. */
export class CachedPage {
  readonly #render: () => Promise<string>;
  readonly #ttl: number;
  #page: { readonly text: Promise<string>; readonly at: number } | undefined;

  /** @param ttl milliseconds for which a page is reused */
  constructor(render: () => Promise<string>, ttl: number) {
    this.#render = render;
    this.#ttl = ttl;
  }

  read(): Promise<string> {
    const now = performance.now();
    if (this.#page && now - this.#page.at < this.#ttl) return this.#page.text;
    const page = { text: this.#render(), at: now };
    this.#page = page;
    // A page that could not be rendered must not be shown again.
    page.text.catch(() => {
      if (this.#page === page) this.#page = undefined;
    });
    return page.text;
  }
}
