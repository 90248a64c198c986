import { writeJson } from "./json.ts";

/**
 * Characters that show nothing or change how others are shown: controls but line feed and tab, zero-width, bidirectional marks
 * (CVE-2021-42574), tags (U+E0000, read by models and by nobody else), and variation selectors beyond those of emoji.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- controls are what it is for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Text of servers, tools and models with what is hidden in it made visible, as `[U+202E]`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const code = character.codePointAt(0)!;
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

/** A value of a stranger as text: a text as it is, nothing as nothing, the rest as JSON. */
export function toText(value: unknown): string {
  return value === undefined || value === null ? "" : toLabel(value);
}

/** A value as one of a list: as {@link toText}, but null is said. */
export function toLabel(value: unknown): string {
  return typeof value === "string" ? value : writeJson(value);
}

/** How numbers are written. */
const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A count, or a rate with one digit behind the point. */
export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** Milliseconds in the unit that a reader wants: `8 ms`, `1.2 s`, `3 min`. */
export function formatSpan(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${NUMBER.format(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${NUMBER.format(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

/** Bytes in the unit that a reader wants. */
export function formatSize(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${NUMBER.format(bytes / 1_024)} KiB`;
  return `${NUMBER.format(bytes / 1_048_576)} MiB`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** A moment as a clock shows it; with the day when it is a different one. */
export function formatTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const clock = CLOCK.format(time);
  return time.toDateString() === new Date().toDateString()
    ? clock
    : `${DAY.format(time)}, ${clock}`;
}

const STAMP = new Intl.DateTimeFormat("en-GB", {
  day: "2-digit",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

/** A moment with its day and milliseconds, as lines of a log have it. */
export function formatStamp(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : STAMP.format(time).replace(",", "");
}

/** `1 tool`, `3 tools`. */
export function countOf(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** JSON as people read it; anything else as it is. */
export function formatJson(value: unknown): string {
  return value === undefined ? "undefined" : writeJson(value, 2);
}
