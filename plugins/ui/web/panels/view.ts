import type { InterfaceView } from "propylon/plugins/admin";
import type { HitsRoute } from "../parts/hits.tsx";
import type { Params, Route } from "../request.ts";

/** Parameters of routes that the place of a panel gives. */
export type Context = Readonly<Record<string, string>>;

/** A panel that is described: one of several kinds. */
export type View = NonNullable<InterfaceView["panels"][number]["view"]>;

/** What a described panel of a kind says. */
export type ViewOf<Kind extends string, Each = View> = Each extends {
  readonly [K in Kind]: infer Content;
}
  ? Content
  : never;

/** A route without the query that stands behind it, and the query. */
export function splitRoute(reference: Route): { route: Route; query: Record<string, string> } {
  const [route, query = ""] = reference.split("?");
  return { route: route as Route, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The route that says whom a request with these parameters hits. */
export function hitsRoute(
  about: Route | undefined,
  params: Params | undefined,
  live: string | undefined,
): HitsRoute | undefined {
  if (about === undefined) return undefined;
  const { route, query } = splitRoute(about);
  return { route, params: { ...params, ...query }, live };
}
