import { createHash } from "node:crypto";
import type { ZodType } from "zod";
import { GatewayError } from "../kit/errors.ts";
import { checkShape } from "../kit/check-shape.ts";
import { describeProblems, toProblems } from "../kit/problem-text.ts";
import { parseJson } from "../kit/json.ts";
import { Recent } from "../kit/recent.ts";
import type { RouteEvent } from "../plugin/route.ts";

/**
 * The JSON body of a request to a plugin's route, checked by a schema. No body counts as `{}`.
 *
 * @throws {GatewayError} `unsupported_media_type` for another content type, `bad_request` for broken JSON, `invalid` naming each
 * wrong field, `too_large` beyond the route's limit
 *
 * @example const { name } = await readJson(event, z.strictObject({ name: z.string() }));
 */
export async function readJson<T>({ req, context }: RouteEvent, schema: ZodType<T>): Promise<T> {
  const text = await req.text();
  const type = req.headers.get("content-type");
  if (text !== "" && type !== null && !/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw new GatewayError("unsupported_media_type", "The body must be JSON.", {
      hint: "Send content-type: application/json.",
    });
  return checkInput(text === "" ? {} : parseJson(Buffer.from(text), context.maxDepth), schema);
}

/**
 * A parameter of the route's path, decoded once. Names may hold a slash or a percent sign, so they travel encoded.
 *
 * @throws {GatewayError} `bad_request` when the encoding is broken
 *
 * @example const id = pathParameter(event, "id"); // percent-decoded
 */
export function pathParameter({ context }: RouteEvent, name: string): string {
  try {
    return decodeURIComponent(context.params?.[name] ?? "");
  } catch {
    throw new GatewayError(
      "bad_request",
      `The ${name} in the path is not percent-encoded properly.`,
    );
  }
}

/**
 * A strong entity tag of a body (RFC 9110 section 8.8.3), for the header `etag`.
 *
 * @example const etag = createEtag(body);
 */
export function createEtag(body: string | Uint8Array): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
}

/**
 * Whether the client has what an entity tag stands for, so that 304 is the answer (`If-None-Match`, RFC 9110 section 13.1.2: any
 * of its tags, compared weakly).
 *
 * @example if (isUnmodified(event, etag)) return new Response(null, { status: 304, headers: { etag } });
 */
export function isUnmodified({ req }: RouteEvent, etag: string): boolean {
  const tags = req.headers.get("if-none-match")?.split(",") ?? [];
  return tags.some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}

/** What `Accept` headers prefer: a client sends the same one with every request. */
const PREFERENCES = new Recent<boolean>(64);
const MAX_ACCEPT = 256;

/**
 * Whether events are wanted more than JSON; of two wanted alike the first counts (RFC 9110 section 12.5.1).
 *
 * @example const isStream = prefersEvents(event.req.headers.get("accept"));
 */
export function prefersEvents(accept: string | null): boolean {
  if (accept === null || !/text\/event-stream/i.test(accept)) return false;
  const known = PREFERENCES.get(accept);
  if (known !== undefined) return known;
  const prefers = readPreference(accept);
  if (accept.length <= MAX_ACCEPT) PREFERENCES.set(accept, prefers);
  return prefers;
}

function readPreference(accept: string): boolean {
  const wanted = accept.split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 };
  });
  const best = wanted
    .filter(({ type }) => type === "text/event-stream" || type === "application/json")
    .toSorted((a, b) => b.quality - a.quality);
  return best[0]?.type === "text/event-stream" && best[0].quality > 0;
}

/**
 * A value of a request checked by a schema.
 *
 * @throws {GatewayError} `invalid` whose `data.issues` has a path and a sentence for each wrong field: the first ten, and the first
 * alone of a large value
 *
 * @example const { dry } = checkInput(getQuery(event), z.object({ dry: z.literal("1").optional() }));
 */
export function checkInput<T>(value: unknown, schema: ZodType<T>): T {
  const checked = checkShape(schema, value);
  if (checked.success) return checked.data;
  const { issues } = checked.error;
  const words = describeProblems(issues).join("; ");
  throw new GatewayError("invalid", `The request is not valid. ${words}.`, {
    data: { issues: toProblems(issues) },
    hint: "Correct the fields that are named.",
  });
}

/** Whether a browser asks for a page, and not a client for its stream of events. */
export function wantsPage(method: string | undefined, accept: string | null | undefined): boolean {
  if ((method !== "GET" && method !== "HEAD") || !accept) return false;
  return accept.includes("text/html") && !accept.includes("text/event-stream");
}
