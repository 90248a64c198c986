import type { SpanContext } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";

/** How much of attributes is kept, as `OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT` and `_VALUE_LENGTH_LIMIT` say. */
export interface AttributeLimits {
  readonly count: number;
  /** Characters of a text. */
  readonly length: number;
}

/** Attributes as anybody may have given them. */
type Named = Readonly<Record<string, unknown>>;

/** Bits of `flags` of a span and a link: whether it is known where the parent is, and whether that is another process. */
const KNOWS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** Keys of attributes as JSON. */
const keys = new Map<string, string>();
const MAX_KEYS = 256;

/** Attributes as a list of OTLP JSON. */
export function attributesText(attributes: Named): string {
  let text = "";
  for (const key of Object.keys(attributes)) {
    const pair = `{"key":${keyText(key)},"value":${valueText(attributes[key])}}`;
    text += text === "" ? pair : `,${pair}`;
  }
  return `[${text}]`;
}

/** The same few keys come again with every span; beyond a few hundred, a key is written each time. */
function keyText(key: string): string {
  const known = keys.get(key);
  if (known !== undefined) return known;
  const text = JSON.stringify(key);
  if (keys.size < MAX_KEYS && key.length <= 64) keys.set(key, text);
  return text;
}

/** `AnyValue` of OTLP: the number types of protobuf are told apart by whether it is whole. */
function valueText(value: unknown): string {
  if (typeof value === "string") return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === "boolean") return `{"boolValue":${value}}`;
  if (typeof value === "number") return numberText(value);
  // A hole would be nothing between two commas.
  if (Array.isArray(value))
    return `{"arrayValue":{"values":[${Array.from(value, valueText).join()}]}}`;
  if (value instanceof Uint8Array)
    return `{"bytesValue":"${Buffer.from(value).toString("base64")}"}`;
  if (typeof value !== "object" || value === null) return "{}";
  return `{"kvlistValue":{"values":${attributesText(value as Named)}}}`;
}

/** Protobuf's JSON writes NaN and the infinities as texts. A whole number of more than 64 bits goes out as a double. */
function numberText(value: number): string {
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63)
    return `{"intValue":${value}}`;
  return `{"doubleValue":${Number.isFinite(value) ? value : `"${value}"`}}`;
}

/** A time in nanoseconds, of milliseconds. In two parts: V8 takes several times as long to write a number of 16 digits. */
export function nanosText(ms: number): string {
  const micros = Math.round(ms * 1_000);
  const seconds = Math.floor(micros / 1_000_000);
  return `${seconds}${String(1_000_000 + (micros - seconds * 1_000_000)).slice(1)}000`;
}

/** Bits of `flags`. */
export function spanFlags(traceFlags: number, isRemote: boolean | undefined): number {
  return (traceFlags & 0xff) | KNOWS_REMOTE | (isRemote === true ? IS_REMOTE : 0);
}

/** Who exports, as OTLP JSON. */
export function resourceText(resource: ReadableSpan["resource"]): string {
  return `{"attributes":${attributesText(resource.attributes)},"droppedAttributesCount":0}`;
}

/** What made a span, as the members of `ScopeSpans` in front of the spans. */
export function scopeText({
  name,
  version,
  schemaUrl,
}: ReadableSpan["instrumentationScope"]): string {
  const about = { scope: { name, version }, ...(schemaUrl !== undefined && { schemaUrl }) };
  return JSON.stringify(about).slice(1, -1);
}

/** A span that the SDK made, as OTLP JSON. */
export function spanText(span: ReadableSpan): string {
  const { parentSpanContext: parent, status } = span;
  const own = span.spanContext();
  return `{${identityText(own)}${parent ? `,"parentSpanId":"${parent.spanId}"` : ""},"name":${JSON.stringify(span.name)},"kind":${span.kind + 1},"startTimeUnixNano":"${nanosOf(span.startTime)}","endTimeUnixNano":"${nanosOf(span.endTime)}","attributes":${attributesText(span.attributes)},"droppedAttributesCount":${span.droppedAttributesCount},"events":[${span.events.map(eventText).join()}],"droppedEventsCount":${span.droppedEventsCount},"status":${JSON.stringify(status)},"links":[${span.links.map(linkText).join()}],"droppedLinksCount":${span.droppedLinksCount},"flags":${spanFlags(own.traceFlags, parent?.isRemote)}}`;
}

function identityText({ traceId, spanId, traceState }: SpanContext): string {
  const state = traceState?.serialize();
  const rest = state === undefined ? "" : `,"traceState":${JSON.stringify(state)}`;
  return `"traceId":"${traceId}","spanId":"${spanId}"${rest}`;
}

function eventText({
  name,
  time,
  attributes = {},
  droppedAttributesCount = 0,
}: ReadableSpan["events"][number]): string {
  return `{"attributes":${attributesText(attributes)},"name":${JSON.stringify(name)},"timeUnixNano":"${nanosOf(time)}","droppedAttributesCount":${droppedAttributesCount}}`;
}

function linkText({
  context,
  attributes = {},
  droppedAttributesCount = 0,
}: ReadableSpan["links"][number]): string {
  return `{"attributes":${attributesText(attributes)},${identityText(context)},"droppedAttributesCount":${droppedAttributesCount},"flags":${spanFlags(context.traceFlags, context.isRemote)}}`;
}

/** Seconds and nanoseconds as one number, which is too large for those of JavaScript. */
function nanosOf([seconds, nanos]: ReadableSpan["startTime"]): string {
  return String(BigInt(Math.trunc(seconds)) * 1_000_000_000n + BigInt(Math.trunc(nanos)));
}
