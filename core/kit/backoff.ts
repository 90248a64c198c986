import { GatewayError } from "./errors.ts";

/**
 * How waits between attempts grow; milliseconds.
 *
 * @example const policy: BackoffPolicy = { initial: 500, max: 30_000 };
 */
export interface BackoffPolicy {
  /** The first wait; each further failure doubles it. */
  readonly initial: number;
  /** The longest wait. */
  readonly max: number;
}

/**
 * Whole milliseconds to wait after so many failures in a row: exponential backoff, less a random part of up to half, so that callers that
 * failed together do not come back together. What the other side asks for (`Retry-After` of RFC 9110, `retry` of an event stream) is
 * never shortened, but never longer than `max` either.
 *
 * @param failures in a row, from 1
 * @param asked milliseconds that the other side asks for; default none
 * @param random from 0 to 1; default `Math.random()`
 * @example await pause(backoffDelay(failures, { initial: 500, max: 30_000 }), signal);
 */
export function backoffDelay(
  failures: number,
  { initial, max }: BackoffPolicy,
  asked = 0,
  random = Math.random(),
): number {
  const whole = Math.min(max, initial * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return wholeDelay(Math.max(whole * (0.5 + random / 2), Math.min(asked, max)));
}

/**
 * A delay as every queue and protocol takes it: whole milliseconds, none of them lost. JetStream reads a fraction of a nanosecond as
 * no delay at all.
 *
 * @param ms at least 0
 * @throws {GatewayError} `invalid` for what cannot be a time to wait
 * @example delivery.giveBack(wholeDelay(1_000 * Math.random()));
 */
export function wholeDelay(ms: number): number {
  const whole = Math.ceil(ms);
  if (whole >= 0 && whole <= Number.MAX_SAFE_INTEGER) return whole;
  throw new GatewayError("invalid", `A delay cannot be ${ms} ms.`, {
    hint: "Give the delay in milliseconds; 0 means at once.",
  });
}

/**
 * Milliseconds that a `Retry-After` asks to wait: seconds, or a date (RFC 9110 section 10.2.3). `undefined` for what is neither.
 *
 * @example const wait = readRetryAfter(response.headers.get("retry-after") ?? "");
 */
export function readRetryAfter(value: string): number | undefined {
  const text = value.trim();
  if (/^\d{1,9}(?:\.\d+)?$/.test(text)) return Number(text) * 1_000;
  // Date.parse takes "-3" for a year.
  const date = /[a-z]{3}/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/**
 * Key of `_meta` in the result of a tool that failed: seconds until another call makes sense, as the `Retry-After` of what is behind
 * it says. Over plain HTTP it is that header.
 *
 * @example const _meta = { [META_RETRY_AFTER]: 17 };
 */
export const META_RETRY_AFTER = "propylon/retryAfter";
