import { createContext, useContext, type ReactNode } from "react";
import type { Route } from "./request.ts";

/** Somebody, as the gateway knows them. */
export interface Visitor {
  readonly ref: string;
  readonly kind: string;
  readonly roles: readonly string[];
  readonly expiresAt: string | null;
  /** Whether they came with the cookie of the sign-in page. */
  readonly session: boolean;
}

/** A route of the gateway, and whether this visitor may use it. */
export interface KnownRoute {
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly mutates: boolean;
  readonly plugin: string;
  readonly allowed: boolean;
  readonly why: null | "role" | "read_only";
}

/** A panel of a plugin, as the gateway describes it. */
export interface KnownPanel {
  readonly id: string;
  readonly plugin: string;
  readonly title: string;
  readonly place: "overview" | "servers/detail" | "page";
  readonly access: string;
  readonly description: string | null;
  readonly view?: import("./panels/view.ts").PanelView;
  readonly module?: string;
}

/** A kind of events that a plugin declares. */
export interface KnownEvent {
  readonly kind: string;
  readonly plugin: string;
}

/** Answer of `GET /_meta/ui`. */
export interface About {
  readonly name: string;
  readonly version: string | null;
  readonly generation: number | null;
  readonly instance: string;
  readonly principal: Visitor | null;
  readonly signIn: readonly { readonly kind: "open" | "key" | "code" }[];
  readonly readOnly: null | {
    readonly scope: "everything" | "management";
    readonly message: string;
    readonly hint: string;
    readonly place: string | null;
  };
  readonly warnings: readonly {
    readonly code: string;
    readonly message: string;
    readonly hint: string;
    readonly path: readonly string[];
  }[];
  readonly plugins: readonly string[];
  readonly panels: readonly KnownPanel[];
  /** Those that the visitor may see. */
  readonly events: readonly KnownEvent[];
  readonly routes: readonly KnownRoute[];
}

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
