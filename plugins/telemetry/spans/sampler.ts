import { trace, TraceFlags, type Context } from "@opentelemetry/api";
import type { Sampler, SamplingResult } from "@opentelemetry/sdk-trace-base";

/** Which traces are kept. */
export interface SamplerSettings {
  /** Share of the traces, 0 to 1. */
  readonly ratio: number;
  /** Whether a trace that a caller began is kept where that keeps it. */
  readonly followsCaller: boolean;
}

/** `SamplingDecision` of the SDK, which is not loaded where this is read. */
const NOT_RECORD = 0;
const RECORD_AND_SAMPLED = 2;

/**
 * Decides which traces are kept, as the samplers `traceidratio` and `parentbased_traceidratio` of the SDK do: for their spans, and for
 * those that are not made by it.
 */
export class TraceSampler implements Sampler {
  readonly #settings: SamplerSettings;
  readonly #bound: number;

  constructor(settings: SamplerSettings) {
    this.#settings = settings;
    const { ratio } = settings;
    this.#bound = ratio === 1 ? 2 ** 32 : Math.floor(ratio * 0xffff_ffff);
  }

  /** @param callerFlags those of the span around it; `undefined` for a trace that begins here */
  keeps(traceId: string, callerFlags: number | undefined): boolean {
    if (callerFlags !== undefined && this.#settings.followsCaller)
      return (callerFlags & TraceFlags.SAMPLED) !== 0;
    return this.#bound === 2 ** 32 || valueOf(traceId) < this.#bound;
  }

  shouldSample(context: Context, traceId: string): SamplingResult {
    const caller = trace.getSpanContext(context);
    const flags = caller && trace.isSpanContextValid(caller) ? caller.traceFlags : undefined;
    return { decision: this.keeps(traceId, flags) ? RECORD_AND_SAMPLED : NOT_RECORD };
  }

  toString(): string {
    const { ratio, followsCaller } = this.#settings;
    return `TraceSampler{ratio=${ratio},followsCaller=${followsCaller}}`;
  }
}

/**
 * Every process of a trace must come to the same: what all samplers of OpenTelemetry for JavaScript make of an id. Digit by digit:
 * `parseInt` costs ten times as much.
 */
function valueOf(traceId: string): number {
  let value = 0;
  for (let at = 0; at < 8; at++) {
    let digit = 0;
    for (let word = at; word < traceId.length; word += 8) digit ^= digitAt(traceId, word);
    value = (value << 4) | digit;
  }
  return value >>> 0;
}

function digitAt(hexadecimal: string, at: number): number {
  const code = hexadecimal.charCodeAt(at);
  return (code & 15) + (code >> 6) * 9;
}
