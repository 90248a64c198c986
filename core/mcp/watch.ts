import type { Provider, ProviderEvent } from "../server/server.ts";

/** Listens to a changing set of providers. */
export class ProviderWatch {
  readonly #listener: (provider: Provider, event: ProviderEvent) => void;
  readonly #watched = new Map<Provider, () => void>();

  constructor(listener: (provider: Provider, event: ProviderEvent) => void) {
    this.#listener = listener;
  }

  /** Watches exactly these providers from now on. */
  set(providers: readonly Provider[]): void {
    const wanted = new Set(providers);
    for (const [provider, stop] of this.#watched) {
      if (wanted.has(provider)) continue;
      stop();
      this.#watched.delete(provider);
    }
    for (const provider of wanted) {
      if (!this.#watched.has(provider))
        this.#watched.set(
          provider,
          provider.on((event) => this.#listener(provider, event)),
        );
    }
  }
}
