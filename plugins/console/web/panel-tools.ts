/** What the page gives a module, as far as this one uses it. */
export interface PanelTools {
  /** Asks the gateway; paths are relative to it. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Hears the events of the page. */
  readonly events: (listener: (kind: string) => void) => () => void;
  readonly navigate: (path: string) => void;
  readonly notify: (text: string) => void;
  /** Why the visitor may not use a route; `undefined`: they may. */
  readonly refusal: (route: string) => string | undefined;
  /** The same request for a shell. */
  readonly curl: (
    route: string,
    details: { readonly params?: object; readonly body?: object },
  ) => string;
  /** Ends when the panel leaves the page. */
  readonly signal: AbortSignal;
}
