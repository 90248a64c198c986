import { join } from "node:path";
import { pino } from "pino";
import type { Gateway } from "propylon";
import sqlite from "propylon/plugins/sqlite";
import teamAuth from "propylon/plugins/team-auth";
import { setupGateway, type GatewaySetup } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

/** Opens the administration in these tests. */
export const ADMIN_KEY = "the-key-of-the-admin-in-these-tests";
export const PASSWORD = "correct horse battery staple";
export const SECRET_KEY = "a key of these tests that seals secrets";

/** A request of a test. */
export interface Sent {
  /** A key or token; default: that of the admin; `null`: none. */
  readonly bearer?: string | null;
  /** A service account, with the password of these tests. */
  readonly account?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What came back. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  // eslint-disable-next-line typescript/no-explicit-any -- each test knows what it asked for
  readonly body: any;
}

/** How a gateway with team-auth is asked. */
export interface IssuerRequests {
  readonly send: (method: string, path: string, sent?: Sent) => Promise<Received>;
  /** Below `/_meta/team-auth`. */
  readonly admin: (method: string, path: string, sent?: Sent) => Promise<Received>;
}

/** A gateway with team-auth, in a SQLite file of its own. */
export interface RunningIssuer extends IssuerRequests {
  readonly gateway: Gateway;
  readonly url: string;
  readonly folder: string;
  /** Lines of the log, as objects. */
  readonly lines: Record<string, unknown>[];
}

export async function startIssuer(
  options: Record<string, unknown> = {},
  { config = {}, plugins = [] }: Pick<GatewaySetup, "config" | "plugins"> = {},
): Promise<RunningIssuer> {
  const folder = makeFolder();
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void =>
    void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = pino({ level: "debug" }, { write });
  const { gateway, url } = await setupGateway({
    log,
    client: false,
    plugins: [sqlite, [teamAuth, { secretKeys: [SECRET_KEY], ...options }], ...plugins],
    config: {
      store: `sqlite:${join(folder, "gateway.db")}`,
      auth: { apiKey: ADMIN_KEY, maxFailures: 0 },
      management: { mutations: true },
      ...config,
    },
  });
  return { gateway, url, folder, lines, ...requestsTo(url) };
}

/** Asks a gateway. */
export function requestsTo(url: string): IssuerRequests {
  const send: IssuerRequests["send"] = async (method, path, sent = {}) => {
    const { body } = sent;
    const response = await fetch(url + path, {
      method,
      redirect: "manual",
      headers: { ...authorizationOf(sent), "content-type": "application/json", ...sent.headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const read: unknown = isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body: read };
  };
  return {
    send,
    admin: (method, path, sent) => send(method, `/_meta/team-auth${path}`, sent),
  };
}

function authorizationOf({ bearer = ADMIN_KEY, account }: Sent): Record<string, string> {
  if (account !== undefined) {
    const pair = Buffer.from(`${account}:${PASSWORD}`).toString("base64");
    return { authorization: `Basic ${pair}` };
  }
  return bearer === null ? {} : { authorization: `Bearer ${bearer}` };
}

/** Makes service accounts with the password of these tests. */
export async function makeAccounts({ admin }: RunningIssuer, ...names: string[]): Promise<void> {
  for (const name of names)
    await admin("POST", "/accounts", { body: { name, password: PASSWORD } });
}
