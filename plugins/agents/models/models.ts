import { GatewayError } from "propylon";
import { setTimer } from "propylon/kit";
import type { Model, ModelReply, ModelRequest } from "../model.ts";
import { describeModelFailure, describeTimeout, type Asked } from "./failure.ts";
import type { ProviderOptions } from "./options.ts";
import { checkProvider } from "./preflight.ts";
import { loadModelSdk, openModel } from "./provider.ts";
import { retry, type Attempt } from "./retries.ts";
import { takeStep, type ModelAccess } from "./step.ts";
import { traceChat } from "../trace.ts";

/**
 * A model of a configured provider. Opens nothing and imports nothing before its first request.
 *
 * @param id provider and model, e.g. `openai/gpt-5`; the provider's name ends at the first slash
 * @throws {GatewayError} `invalid` when the id has no slash, or names a provider that is not there
 */
export function createModel(
  id: string,
  providers: Readonly<Record<string, ProviderOptions>>,
): Model {
  const [provider, model] = splitId(id);
  const options = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (!options || model === "") throw unknownModel(id, provider, Object.keys(providers));
  return new ProviderModel(id, options, {
    provider,
    model,
    type: options.type,
    secrets: [options.apiKey ?? "", ...Object.values(options.headers)],
  });
}

function splitId(id: string): readonly [provider: string, model: string] {
  const slash = id.indexOf("/");
  return slash < 0 ? [id, ""] : [id.slice(0, slash), id.slice(slash + 1)];
}

function unknownModel(id: string, provider: string, known: readonly string[]): GatewayError {
  if (!id.includes("/") || id.endsWith("/"))
    return new GatewayError("invalid", `Model "${id}" does not name a provider and a model.`, {
      hint: "Write it as provider/model, e.g. openai/gpt-5.",
    });
  const names = known.length === 0 ? "there are none" : `there are: ${known.join(", ")}`;
  return new GatewayError(
    "invalid",
    `Model "${id}" is of provider "${provider}", which is not configured.`,
    {
      hint: `Add it to the providers of the agents plugin; ${names}.`,
    },
  );
}

class ProviderModel implements Model {
  readonly id: string;
  readonly #options: ProviderOptions;
  readonly #asked: Asked;
  #step: Promise<ModelAccess> | undefined;

  constructor(id: string, options: ProviderOptions, asked: Asked) {
    this.id = id;
    this.#options = options;
    this.#asked = asked;
  }

  generate(request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
    return traceChat(this.#asked, request, () => this.#generate(request, signal));
  }

  async #generate(request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
    if (signal.aborted) throw cancelled();
    this.#countTools(request);
    const step = await this.#open();
    const mayRetry = request.mayRetry ?? always;
    const make = (): Promise<Attempt<ModelReply>> => this.#attempt(step, request, signal);
    try {
      return await retry(make, this.#options, mayRetry, signal);
    } catch (thrown) {
      throw signal.aborted ? cancelled() : thrown;
    }
  }

  /** @throws {GatewayError} `invalid`: a provider would refuse the whole request, in words that say less */
  #countTools({ tools }: ModelRequest): void {
    const { maxTools } = this.#options;
    if (maxTools === undefined || tools.length <= maxTools) return;
    const { provider } = this.#asked;
    throw new GatewayError(
      "invalid",
      `The agent has ${tools.length} tools, and provider "${provider}" takes at most ${maxTools} in one request.`,
      { hint: "Give the agent fewer servers or tools, or set maxTools of the provider." },
    );
  }

  preflight(signal: AbortSignal): ReturnType<Model["preflight"]> {
    return checkProvider(this.#options, this.#asked, signal);
  }

  /** The packages, once; a failed import is tried again, since they may be installed meanwhile. */
  #open(): Promise<ModelAccess> {
    this.#step ??= this.#load().catch((error: unknown) => {
      this.#step = undefined;
      throw error;
    });
    return this.#step;
  }

  async #load(): Promise<ModelAccess> {
    const sdk = await loadModelSdk();
    const { provider, model } = this.#asked;
    const language = await openModel(provider, this.#options, model);
    const images = this.#options.type === "anthropic" ? "inside" : "behind";
    return { sdk, language, images };
  }

  /** One request, with its own time limit. */
  async #attempt(
    step: ModelAccess,
    request: ModelRequest,
    signal: AbortSignal,
  ): Promise<Attempt<ModelReply>> {
    const { timeout } = this.#options;
    const bound = new AbortController();
    const abort = (): void => bound.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const timer = setTimer(() => bound.abort(), timeout);
    let shown = false;
    try {
      const { onText } = request;
      const show = (delta: string): void => {
        shown = true;
        onText!(delta);
      };
      return { value: await takeStep(step, request, bound.signal, onText && show) };
    } catch (thrown) {
      if (signal.aborted) throw cancelled();
      if (bound.signal.aborted) return { failure: describeTimeout(timeout, this.#asked) };
      const failure = describeModelFailure(thrown, this.#asked);
      // What somebody has read cannot be taken back, and a second try would write it again.
      return { failure: shown ? { ...failure, transient: false } : failure };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }
}

function always(): boolean {
  return true;
}

function cancelled(): GatewayError {
  return new GatewayError("cancelled", "The request to the model was cancelled.");
}
