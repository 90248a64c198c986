import type { PluginContext, RouteEvent, RouteHandler, RouteMethod } from "propylon";
import { readJson } from "propylon/kit";
import type { ZodType } from "zod";
import type { Changed } from "../directory/changes.ts";

const BASE = "/_meta/team-auth";

/** A change, and what it ended; never to be kept on the way, as it may hold a secret that is shown once. */
export function changed<T extends object | void>(
  { value, ended }: Changed<T>,
  status = 200,
): Response {
  const body = { ok: true, ...value, ended };
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}

/** Adds routes of the administration. */
export interface AdminRoutes {
  /** For admins alone. */
  readonly admin: (method: RouteMethod, path: string, handler: RouteHandler) => void;
  /** For admins, and for users with a token of their own: the handler decides for what. */
  readonly own: (method: RouteMethod, path: string, handler: RouteHandler) => void;
  /** For operators; changes nothing. */
  readonly operator: (path: string, handler: RouteHandler) => void;
}

export function adminRoutes(gateway: PluginContext): AdminRoutes {
  const add =
    (access: "admin" | "principal") =>
    (method: RouteMethod, path: string, handler: RouteHandler): void => {
      const options = { access, mutates: method !== "GET", management: true };
      gateway.route(method, BASE + path, options, handler);
    };
  return {
    admin: add("admin"),
    own: add("principal"),
    operator: (path, handler) => {
      const options = { access: "operator", mutates: false, management: true } as const;
      gateway.route("GET", BASE + path, options, handler);
    },
  };
}

/**
 * Reads a body, and tells the gateway's audit what it is about.
 *
 * @param names members that name it; no secrets
 */
export async function readAbout<T extends object>(
  event: RouteEvent,
  schema: ZodType<T>,
  ...names: readonly (keyof T & string)[]
): Promise<T> {
  const body = await readJson(event, schema);
  event.context.target = Object.fromEntries(names.map((name) => [name, String(body[name])]));
  return body;
}

/** Parameters of the query, each once. */
export function queryOf({ url }: RouteEvent): Readonly<Record<string, string>> {
  return Object.fromEntries(url.searchParams);
}
