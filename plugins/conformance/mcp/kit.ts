import { GatewayError } from "propylon";
import { Deviation, runChecks, sentenceOf, Unobservable, type Check } from "../check.ts";
import { withoutCredentials, type CheckResult, type Report } from "../report.ts";
import { connectLegacy } from "./client-legacy.ts";
import { connectModern } from "./client-modern.ts";
import type { Era, KitClient } from "./client.ts";
import { LISTS } from "./lists.ts";
import { RELAY } from "./relay.ts";
import type { McpScene } from "./scene.ts";
import { setTimer } from "propylon/kit";

/** Options of the kit for MCP endpoints. */
export interface McpKitOptions {
  readonly url: string;
  /** Which clients to come with. One that is asked for alone must be served. */
  readonly eras: readonly Era[];
  /** Sent with every request, e.g. `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Longest time of one check, in milliseconds. */
  readonly timeout: number;
}

/** How a client of an era connects. */
const CONNECT = { legacy: connectLegacy, modern: connectModern } as const;
const CHECKS = [...LISTS, ...RELAY];

/**
 * Runs the relay matrix against an MCP endpoint: every feature with clients of both eras. What the endpoint does not offer, or
 * only shows with the fixture behind it, is skipped.
 *
 * @throws {GatewayError} `upstream_error` when no client can connect, `invalid` when an SDK is not installed
 */
export async function checkMcp(options: McpKitOptions): Promise<Report> {
  const began = performance.now();
  const startedAt = new Date().toISOString();
  const target = withoutCredentials(options.url);
  const visits: Visit[] = [];
  for (const era of options.eras) visits.push(await visit(era, options));
  if (visits.every(({ refusal }) => refusal !== undefined))
    throw new GatewayError(
      "upstream_error",
      `No client could connect to ${target}: ${sentenceOf(visits[0]?.refusal)}`,
      { hint: "Give the URL of an MCP endpoint, and its key with --api-key." },
    );
  const results = visits.flatMap((each) => each.results);
  const duration = Math.round(performance.now() - began);
  return { kit: "mcp", target, startedAt, duration, results };
}

/** What came out of the clients of one era. */
interface Visit {
  readonly results: readonly CheckResult[];
  /** Why none could connect. */
  readonly refusal?: unknown;
}

async function visit(era: Era, options: McpKitOptions): Promise<Visit> {
  const clients: KitClient[] = [];
  const fresh = async (): Promise<KitClient> => {
    const client = await inTime(CONNECT[era](options.url, options.headers), options.timeout);
    clients.push(client);
    return client;
  };
  try {
    const client = await fresh();
    const checks = CHECKS.map((check) => ofEra(check, era, options.timeout));
    return { results: await runChecks<McpScene>(checks, { client, fresh }) };
  } catch (refusal) {
    if (refusal instanceof GatewayError) throw refusal;
    const why = `The endpoint does not serve this era: ${sentenceOf(refusal)}`;
    return { results: await runChecks([notServed(era, why)], undefined), refusal };
  } finally {
    await Promise.all(clients.map((client) => client.close().catch(() => undefined)));
  }
}

function ofEra(check: Check<McpScene>, era: Era, timeout: number): Check<McpScene> {
  const run = (scene: McpScene): Promise<void> =>
    inTime(Promise.resolve(check.run(scene)), timeout);
  return { ...check, id: `${era}/${check.id}`, run };
}

function notServed(era: Era, why: string): Check<undefined> {
  return {
    id: `${era}/connect`,
    title: "the endpoint takes clients of this era",
    run() {
      throw new Unobservable(why);
    },
  };
}

async function inTime<T>(work: Promise<T>, timeout: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new Deviation(`It did not happen within ${timeout / 1_000} s.`);
    timer = setTimer(() => reject(error), timeout);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
