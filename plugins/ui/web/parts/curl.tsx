import type { ReactNode } from "react";
import { useAbout, type About } from "../about.tsx";
import { curlOf, type Params, type Route } from "../request.ts";
import { Copy } from "./copy.tsx";

/** A request of a control. */
export interface ShownRequest {
  readonly route: Route;
  readonly params?: Params | undefined;
  readonly body?: unknown;
}

/** A request for a shell, with a key where the gateway wants one. */
export function commandFor({ signIn }: About, { route, ...details }: ShownRequest): string {
  return curlOf(route, { ...details, key: !signIn.some(({ kind }) => kind === "open") });
}

/** Copies what a control asks the gateway, for a shell. */
export function CopyCurl({ request }: { readonly request: ShownRequest }): ReactNode {
  return <Copy text={commandFor(useAbout(), request)}>Copy as curl</Copy>;
}
