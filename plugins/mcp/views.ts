import type { Principal } from "propylon";
import { type EndpointContent, Recent } from "propylon/kit";
import { View } from "./view.ts";

/** Most views of principals that are kept; one that was dropped is built again when it is asked for. */
const MAX_VIEWS = 1_000;

/** What an endpoint shows, and to whom. Without a filter that looks at principals it is one view for everybody. */
export class Views {
  static readonly EMPTY = new Views(View.NOTHING);

  /** What is shown before any filter looks at a principal. */
  readonly base: View;
  readonly #content: EndpointContent | undefined;
  readonly #byKey = new Recent<View>(MAX_VIEWS);

  constructor(base: View, content?: EndpointContent) {
    this.base = base;
    this.#content = content;
  }

  /** How many views of principals were built. */
  built = 0;

  /** Whether all see the same. */
  get isOne(): boolean {
    return this.#content?.byPrincipal === undefined;
  }

  /** What a principal sees, and so what it may call. */
  of(principal: Principal | undefined): View {
    const byPrincipal = this.#content?.byPrincipal;
    if (byPrincipal === undefined) return this.base;
    const key = principal && byPrincipal.viewOf(principal);
    if (principal === undefined || key === undefined) return View.NOTHING;
    const known = this.#byKey.get(key);
    if (known) return known;
    const view = new View(this.#content!, principal);
    this.built++;
    this.#byKey.set(key, view);
    return view;
  }

  /** Forgets what was decided by principal: a filter has changed its answers, and the next request is to meet the new ones. */
  forget(): void {
    this.#byKey.clear();
  }
}
