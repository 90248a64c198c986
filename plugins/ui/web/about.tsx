import { createContext, useContext, type ReactNode } from "react";
import type { InterfaceView } from "propylon/plugins/admin";
import type { Route } from "./request.ts";

/** What the gateway says of itself and of the visitor. */
export type About = InterfaceView;
/** A panel of a plugin, as the gateway describes it. */
export type KnownPanel = About["panels"][number];

const AboutContext = createContext<About | undefined>(undefined);

/** Gives everything below it what the gateway says of itself and of the visitor. */
export function AboutProvider(props: {
  readonly about: About;
  readonly children: ReactNode;
}): ReactNode {
  return <AboutContext value={props.about}>{props.children}</AboutContext>;
}

/** What the gateway says of itself and of the visitor. */
export function useAbout(): About {
  return useContext(AboutContext)!;
}

/** Whether this visitor may use a route. */
export interface Right {
  /** Whether the gateway has the route at all; what it has not is not shown. */
  readonly isThere: boolean;
  /** Why not, and what to do about it; `undefined`: it may be used. */
  readonly reason: string | undefined;
}

/** The right of the visitor to use a route. */
export function rightTo(about: About, route: Route): Right {
  const known = about.routes.find(({ method, path }) => `${method} ${path}` === route);
  if (!known) return { isThere: false, reason: undefined };
  if (known.allowed) return { isThere: true, reason: undefined };
  if (known.why === "read_only" && about.readOnly)
    return { isThere: true, reason: `${about.readOnly.message} ${about.readOnly.hint}` };
  return { isThere: true, reason: `This needs the role "${known.access}".` };
}

/** The right of the visitor to use a route. */
export function useRight(route: Route): Right {
  return rightTo(useAbout(), route);
}
