import { SignJWT } from "jose";
import { digestOf } from "propylon/kit";
import { createKey } from "../../plugins/keys/key.ts";
import type { Access, GatewayConfigInput, GatewayDescription } from "../../core/index.ts";
import { setupGateway, type GatewaySetup, type TestGateway } from "../../core/testing/index.ts";

/** Whoever asks. */
export const ASKERS = [
  "none",
  "wrong",
  "viewer",
  "caller",
  "operator",
  "admin",
  "service",
  "apiKey",
  "jwtAdmin",
] as const;
export type Asker = (typeof ASKERS)[number];

/** `open` is `auth.strict: false`, `unlocked` no authentication at all. */
export const MODES = ["strict", "open", "unlocked"] as const;
export type Mode = (typeof MODES)[number];

/** What may be changed: everything, nothing over the management API (the default), or nothing whatsoever. */
export const CHANGES = ["allowed", "unmanaged", "readOnly"] as const;
export type Changing = (typeof CHANGES)[number];

/** What becomes of a request: it reaches the handler, or which error stops it before. */
export type Fate = "admitted" | "unauthorized" | "forbidden" | "read_only";

/** A route as declared. */
export type Declared = Pick<
  GatewayDescription["routes"][number],
  "method" | "path" | "access" | "mutates" | "management"
>;

/** What is asked, by whom. */
export interface Asked {
  readonly route: Declared;
  readonly asker: Asker;
  readonly mode: Mode;
  readonly changes: Changing;
}

/** One request of the matrix. */
export interface Cell extends Asked {
  readonly expected: Fate;
  readonly actual: Fate | "no envelope" | "no challenge";
  readonly status: number;
}

const API_KEY = "the-key-that-may-do-all";
const JWT_SECRET = "a secret of at least 32 characters";
const KEYS = {
  viewer: createKey("viewer"),
  caller: createKey("caller"),
  operator: createKey("operator"),
  admin: createKey("admin"),
  service: createKey("service"),
} as const;

const RIGHTS: Readonly<Record<Exclude<Asker, "none" | "wrong">, readonly Access[]>> = {
  viewer: ["principal", "viewer"],
  caller: ["principal", "viewer", "caller"],
  operator: ["principal", "viewer", "caller", "operator"],
  admin: ["principal", "viewer", "caller", "operator", "service", "admin"],
  service: ["principal", "service"],
  apiKey: ["principal", "viewer", "caller", "operator", "service", "admin"],
  jwtAdmin: ["principal", "viewer", "caller", "operator", "service", "admin"],
};

/** The config of a mode, on top of whatever the setup has. */
export function configOf(mode: Mode, changes: Changing): GatewayConfigInput {
  const management = { mutations: changes === "allowed", readOnly: changes === "readOnly" };
  if (mode === "unlocked") return { management };
  const keys = Object.entries(KEYS).map(([role, key]) => [
    role,
    { role, hash: `sha256:${digestOf(key)}` },
  ]);
  const jwt = { secret: JWT_SECRET };
  const strict = mode === "strict";
  // Everyone asks from one address, with the same wrong key each time.
  const auth = { apiKey: API_KEY, keys: Object.fromEntries(keys), jwt, strict, maxFailures: 0 };
  return { management, auth };
}

/** What should become of a request, by what the route says about itself and by nothing else. */
export function fateOf(route: Declared, asker: Asker, mode: Mode, changes: Changing): Fate {
  const { access, mutates, management } = route;
  const isPublic = access === "public" || mode === "unlocked";
  const isOpen = mode === "open" && access === "viewer" && !mutates;
  if (!isPublic && asker === "wrong") return "unauthorized";
  if (!isPublic && !isOpen && asker === "none") return "unauthorized";
  const rights = asker === "none" || asker === "wrong" ? [] : RIGHTS[asker];
  if (!isPublic && !isOpen && !rights.includes(access)) return "forbidden";
  if (!mutates || changes === "allowed") return "admitted";
  return changes === "readOnly" || management ? "read_only" : "admitted";
}

/**
 * Asks every route and MCP endpoint of a gateway, as everyone, in every mode, and says what became of it. Routes are taken from
 * `describe()`, so one that is added is asked without further ado. Handlers that admit a request run: with `changes` of `allowed`
 * they may change what the setup has.
 *
 * @param observe sees each gateway before it is asked, e.g. to listen to its hooks
 * @param isAsked tells of a cell whether it is one; default: of all
 */
export async function runAccessMatrix(
  setup: GatewaySetup,
  observe: (gateway: TestGateway["gateway"], mode: Mode, changes: Changing) => void = () => {},
  isAsked: (cell: Asked) => boolean = () => true,
): Promise<readonly Cell[]> {
  const token = await new SignJWT({ sub: "jwt-admin", role: "admin" })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("10m")
    .sign(new TextEncoder().encode(JWT_SECRET));
  const tokens = { ...KEYS, apiKey: API_KEY, jwtAdmin: token, wrong: "wrong" };
  const cells: Cell[] = [];
  for (const mode of MODES)
    for (const changes of CHANGES) {
      const config = { ...setup.config, ...configOf(mode, changes) };
      const { gateway, url } = await setupGateway({ ...setup, config, client: false });
      observe(gateway, mode, changes);
      for (const route of routesOf(gateway.describe()))
        for (const asker of ASKERS) {
          if (!isAsked({ route, asker, mode, changes })) continue;
          const authorization = asker === "none" ? undefined : `Bearer ${tokens[asker]}`;
          const { actual, status } = await ask(url, route, authorization);
          const expected = fateOf(route, asker, mode, changes);
          cells.push({ route, asker, mode, changes, expected, actual, status });
        }
      await gateway.close({ grace: 0 });
    }
  return cells;
}

/** The cells in which something else happened than was declared, as lines to read. */
export function surprises(cells: readonly Cell[]): string[] {
  return cells
    .filter(({ expected, actual }) => expected !== actual)
    .map(
      ({ route: { method, path, access, mutates, management }, ...cell }) =>
        `${method} ${path} (${access}, mutates ${mutates}, management ${management}) as ${cell.asker}, ${cell.mode}, ` +
        `changes ${cell.changes}: ${cell.actual} ${cell.status} in place of ${cell.expected}`,
    );
}

/** The routes, and the MCP endpoints as what they are: for callers. */
function routesOf({ routes, endpoints }: GatewayDescription): readonly Declared[] {
  const faces = endpoints.map(({ url }): Declared => ({
    method: "POST",
    path: new URL(url).pathname,
    access: "caller",
    mutates: false,
    management: false,
  }));
  // A handshake is another kind of request: tests of events and lifecycle ask as everyone there.
  return [...routes.filter(({ socket }) => socket !== true), ...faces];
}

async function ask(
  url: string,
  { method, path }: Declared,
  authorization: string | undefined,
): Promise<Pick<Cell, "actual" | "status">> {
  const target = path.replaceAll(/(?<=\/):\w+|\*\*(?::\w+)?|\*/g, "probe");
  const hasBody = method !== "GET" && method !== "HEAD";
  const response = await fetch(url + target, {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      "content-type": "application/json",
    },
    ...(hasBody && { body: "{}" }),
  });
  return { actual: await readFate(response, method === "HEAD"), status: response.status };
}

/** Handlers may refuse too; what the guard refuses it says in one way. */
async function readFate(response: Response, isHead: boolean): Promise<Cell["actual"]> {
  const { status, headers } = response;
  if (status !== 401 && status !== 403) {
    // An event stream would never end.
    await response.body?.cancel();
    return "admitted";
  }
  const challenge = headers.get("www-authenticate");
  // An answer to HEAD has no body to tell more.
  if (isHead) return status === 401 ? "unauthorized" : "forbidden";
  const body = (await response.json()) as { ok: boolean; error?: { code: string } };
  if (body.ok || body.error === undefined) return "no envelope";
  const { code } = body.error;
  if (status === 401) return challenge === null ? "no challenge" : "unauthorized";
  if (code === "read_only") return "read_only";
  return challenge?.includes('error="insufficient_scope"') === true ? "forbidden" : "admitted";
}
