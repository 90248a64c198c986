import { GatewayError } from "propylon";
import type { ModelPreflight } from "../model.ts";
import { describeFailure, describeSilence, type Asked } from "./failure.ts";
import type { ProviderOptions } from "./options.ts";
import { openFetch } from "./provider.ts";

/**
 * Asks a provider whether it takes requests, without spending tokens: its list of models, or what `health` says.
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
  const url = options.health ?? `${options.baseUrl.replace(/\/+$/, "")}/models`;
  try {
    const fetch = await openFetch();
    const response = await fetch(url, { headers: headersFor(url, options), signal });
    await response.body?.cancel();
    if (response.ok) return undefined;
    const answer = { name: "AI_APICallError", statusCode: response.status };
    return describeFailure(Object.assign(new Error(), answer), asked).error;
  } catch (thrown) {
    if (signal.aborted) return describeSilence(asked);
    return describeFailure(thrown, asked).error;
  }
}

/** The key goes only where the provider's requests go: a health URL may be somebody else's. */
function headersFor(url: string, options: ProviderOptions): Record<string, string> {
  if (new URL(url).origin !== new URL(options.baseUrl).origin) return {};
  const { apiKey, headers, type } = options;
  if (type === "anthropic")
    return { "x-api-key": apiKey, "anthropic-version": "2023-06-01", ...headers };
  return { ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }), ...headers };
}
