import { GatewayError } from "propylon";
import { readUpTo } from "propylon/internal";
import type { ModelPreflight } from "../model.ts";
import { describeModelFailure, describeSilence, type Asked } from "./failure.ts";
import type { ProviderOptions } from "./options.ts";
import { openFetch } from "./provider.ts";

/** Most bytes of a list of models that are read: the longest there are have less than one of them. */
const MAX_LIST = 4 * 1_024 * 1_024;

/**
 * Asks a provider whether it takes requests and has the model, without spending tokens: by its list of models, and by the model's
 * own name where that is not in the list (an alias, a further page). Where `health` is a URL, only that is asked.
 * Never throws.
 * @param signal ends the wait: the provider then counts as silent
 */
export async function checkProvider(
  options: ProviderOptions,
  asked: Asked,
  signal: AbortSignal,
): Promise<ModelPreflight> {
  const { provider, model } = asked;
  if (options.health === "none") return { provider, model, status: "unknown" };
  const failed = await ask(options, asked, signal);
  return failed === undefined
    ? { provider, model, status: "ok" }
    : { provider, model, status: "error", message: failed.message };
}

async function ask(
  options: ProviderOptions,
  asked: Asked,
  signal: AbortSignal,
): Promise<GatewayError | undefined> {
  const list = `${options.baseUrl.replace(/\/+$/, "")}/models`;
  try {
    if (options.health !== undefined)
      return failureOf(await look(options.health, options, signal), asked);
    const { status, names } = await look(list, options, signal, true);
    if (status !== 200 || !names || names.has(asked.model)) return failureOf({ status }, asked);
    const own = await look(`${list}/${encodeURIComponent(asked.model)}`, options, signal);
    // A provider may not answer for one model; only a plain no is one.
    return own.status === 404 ? failureOf(own, asked) : undefined;
  } catch (thrown) {
    if (signal.aborted) return describeSilence(asked);
    return describeModelFailure(thrown, asked).error;
  }
}

/** What a provider answered to a look-up. */
interface Looked {
  readonly status: number;
  /** Ids of the models, where the answer is a list of them. */
  readonly names?: ReadonlySet<string> | undefined;
}

/** @param isList whether the body is read; another one may never end */
async function look(
  url: string,
  options: ProviderOptions,
  signal: AbortSignal,
  isList = false,
): Promise<Looked> {
  const fetch = await openFetch();
  const { status, body } = await fetch(url, { headers: headersFor(url, options), signal });
  if (isList && status === 200 && body)
    return { status, names: namesIn(await readUpTo(body, MAX_LIST)) };
  await body?.cancel();
  return { status };
}

/** Ids in a list as both APIs have it; `undefined` for anything else. */
function namesIn(list: Buffer | undefined): ReadonlySet<string> | undefined {
  try {
    const { data } = JSON.parse(list?.toString("utf8") ?? "") as { data?: unknown };
    if (!Array.isArray(data)) return undefined;
    const ids = data.flatMap((each: { id?: unknown } | null) =>
      typeof each?.id === "string" ? [each.id] : [],
    );
    return data.length > 0 && ids.length === 0 ? undefined : new Set(ids);
  } catch {
    return undefined;
  }
}

function failureOf({ status }: Looked, asked: Asked): GatewayError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const answer = { name: "AI_APICallError", statusCode: status };
  return describeModelFailure(Object.assign(new Error(), answer), asked).error;
}

/** The key goes only where the provider's requests go: a health URL may be somebody else's. */
function headersFor(url: string, options: ProviderOptions): Record<string, string> {
  if (new URL(url).origin !== new URL(options.baseUrl).origin) return {};
  const { apiKey, headers, type } = options;
  if (type === "anthropic")
    return { "x-api-key": apiKey, "anthropic-version": "2023-06-01", ...headers };
  return { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers };
}
