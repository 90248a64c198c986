import { sep } from "node:path";
import { isObject } from "../kit/json.ts";

/** What a name may take of a line, in characters. */
const MAX_NAME = 48;
/** What a value may take beside a sentence, and how many may. */
const MAX_VALUE = 60;
const MAX_VALUES = 6;
/** What a sentence may take: errors quote what others said. */
const MAX_SENTENCE = 2_000;
/** Frames of an error that ends the process. */
const MAX_FRAMES = 5;

/** Columns begin this wide and grow with what is shown in them, so that lines stay below each other. */
const FIRST_WIDTHS = { what: 12, server: 10 } as const;

const PLAIN = 0;
const DIM = 2;
const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const CYAN = 36;

const LEVEL_COLOURS: Readonly<Record<string, number>> = {
  warn: YELLOW,
  error: RED,
  fatal: RED,
};

/** By the outcome of a call, as the log names it. */
const OUTCOME_COLOURS: Readonly<Record<string, number>> = {
  ok: GREEN,
  tool_error: RED,
  refused: YELLOW,
  cancelled: DIM,
  timed_out: RED,
  unreachable: RED,
};

/** Members that have their place in a line. */
const PLACED = new Set(
  "level ts msg plugin server err hint reason place endpoint call principal".split(" "),
);

type Line = Readonly<Record<string, unknown>>;

/** Makes lines of the log readable: one line for each, in columns. Nothing that a stranger says can break one or control a terminal. */
export class LogText {
  readonly #widths = { ...FIRST_WIDTHS } as Record<keyof typeof FIRST_WIDTHS, number>;
  readonly #hasColours: boolean;

  constructor(hasColours: boolean) {
    this.#hasColours = hasColours;
  }

  /** @param json one or more lines of JSON as the logger writes them; any other text is shown as it is */
  toText(json: string): string {
    const lines = json.split("\n").filter((line) => line !== "");
    return lines.map((line) => `${this.#line(line)}\n`).join("");
  }

  #line(json: string): string {
    const line = parseLine(json);
    if (!line) return showControls(json);
    return isCall(line) ? this.#call(line) : this.#other(line);
  }

  #call(line: CallLine): string {
    const { action, tool, server, outcome, duration_ms: ms, principal } = line;
    const parts = [
      this.#time(line),
      this.#column("what", `${VERBS[action] ?? ""}${tool}`),
      this.#column("server", server),
      this.#paint(wordsOfCode(outcome).padEnd("unreachable".length), OUTCOME_COLOURS[outcome]!),
      durationText(ms).padStart("100 ms".length),
      codeOfCall(line),
      isSomebody(principal) ? this.#paint(nameOf(principal), DIM) : "",
    ];
    return parts.filter((part) => part !== "").join("  ");
  }

  #other(line: Line): string {
    const level = textOf(line["level"]);
    const details = detailsOf(line).join(", ");
    const parts = [
      this.#time(line),
      this.#paint(nameOf(level).padEnd("error".length), LEVEL_COLOURS[level] ?? DIM),
      this.#column("what", textOf(line["server"]) || textOf(line["plugin"]) || "gateway", CYAN),
      sentenceOf(line),
      details === "" ? "" : this.#paint(details, DIM),
    ];
    const text = parts.filter((part) => part !== "").join("  ");
    return level === "fatal" ? [text, ...framesOf(line["err"])].join("\n    ") : text;
  }

  #time({ ts }: Line): string {
    const at = new Date(typeof ts === "string" || typeof ts === "number" ? ts : Number.NaN);
    return this.#paint(
      Number.isNaN(at.getTime()) ? "--:--:--" : at.toTimeString().slice(0, 8),
      DIM,
    );
  }

  #column(column: keyof typeof FIRST_WIDTHS, text: string, colour = PLAIN): string {
    const name = nameOf(text);
    const width = Math.max(this.#widths[column], Math.min(name.length, MAX_NAME));
    this.#widths[column] = width;
    return this.#paint(name.padEnd(width), colour);
  }

  #paint(text: string, colour: number): string {
    return this.#hasColours && colour !== PLAIN ? `\u001b[${colour}m${text}\u001b[0m` : text;
  }
}

/** What a call does, where it does not call a tool. */
const VERBS: Readonly<Record<string, string>> = {
  "resources/read": "read ",
  "prompts/get": "prompt ",
  "completion/complete": "complete ",
};

interface CallLine extends Line {
  readonly action: string;
  readonly tool: string;
  readonly server: string;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly error_code: string | null;
  readonly principal: string;
}

/** Plugins write lines too, and may use the same words. */
function isCall(line: Line): line is CallLine {
  const texts = [line["action"], line["tool"], line["server"], line["principal"]];
  return (
    line["msg"] === "call" &&
    typeof line["outcome"] === "string" &&
    Object.hasOwn(OUTCOME_COLOURS, line["outcome"]) &&
    typeof line["duration_ms"] === "number" &&
    texts.every((text) => typeof text === "string")
  );
}

/** A line as the logger wrote it; `undefined` for anything else. */
export function parseLine(json: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(json);
    return isObject(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

/** The code, where it says more than the outcome. */
function codeOfCall({ outcome, error_code: code }: CallLine): string {
  if (code === null || code === outcome || outcome === "timed_out") return "";
  return /^-?\d+$/.test(code) ? `JSON-RPC ${code}` : wordsOfCode(nameOf(code));
}

const wordsOfCode = (code: string): string => code.replaceAll("_", " ");

/** `8 ms`, `1.2 s`, `3 min`. */
function durationText(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 100_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Whether it is worth a word who made a call. */
function isSomebody(principal: string): boolean {
  return !principal.startsWith("anonymous:");
}

/** Where it happened, what, why, and what to do next. */
function sentenceOf({ msg, reason, err, hint, place }: Line): string {
  let words = "";
  for (const said of [textOf(msg), textOf(reason), causeOf(err)])
    if (!words.includes(said)) words += words === "" ? said : `${endOf(words, ":")} ${said}`;
  const frame = frameOf(err);
  if (frame !== "" && !words.includes(frame)) words += ` (${frame})`;
  const next = textOf(hint);
  if (!words.includes(next)) words += `${endOf(words, ".")} ${next}`;
  const where = isObject(place) ? whereOf(place) : "";
  const isTold = where !== "" && words.includes(/[^/\\]*$/.exec(where)![0]);
  return showLines(cutTo(MAX_SENTENCE, where === "" || isTold ? words : `${where} ${words}`));
}

/** What stands between a sentence and the next, where it has no mark of its own. */
const endOf = (words: string, mark: string): string => (/[.!?:]$/.test(words) ? "" : mark);

function whereOf({ file, line, column, path }: Line): string {
  if (typeof file !== "string") return "";
  if (typeof line === "number")
    return `${fromHere(file)}:${line}:${typeof column === "number" ? column : 1}`;
  return typeof path === "string" ? `${fromHere(file)} (${path})` : fromHere(file);
}

const causeOf = (err: unknown): string => textOf(isObject(err) ? err["message"] : err);

/** Where an error was thrown, if that is in a file of the reader's. Our own errors say it themselves. */
function frameOf(err: unknown): string {
  if (!isObject(err) || err["type"] === "GatewayError") return "";
  return placesOf(err).find(isOfReader) ?? "";
}

/** Where an error that ends the process came by: our own files too, where there are no others. */
function framesOf(err: unknown): string[] {
  if (!isObject(err)) return [];
  const places = placesOf(err);
  const own = places.filter(isOfReader);
  return (own.length > 0 ? own : places).slice(0, MAX_FRAMES).map((place) => `at ${nameOf(place)}`);
}

/** The places in a stack, without functions: `plugins/glossary.ts:17:11`. */
function placesOf({ stack }: Line): string[] {
  const frames = textOf(stack).matchAll(
    /^\s+at (?:.*\()?(?:file:\/\/)?([^()\s]+?)(?:\?[^:]*)?(:\d+:\d+)\)?$/gm,
  );
  return [...frames].map(([, file, at]) => `${fromHere(file!)}${at}`);
}

const isOfReader = (place: string): boolean =>
  !/^node:|(?:^|[/\\])(?:node_modules|dist)[/\\]/.test(place);

function fromHere(file: string): string {
  const folder = process.cwd() + sep;
  return file.startsWith(folder) ? file.slice(folder.length) : file;
}

/** What else a line has, if it is short: the JSON has all of it. */
function detailsOf(line: Line): string[] {
  const shown: string[] = [];
  for (const [name, value] of Object.entries(line)) {
    if (PLACED.has(name) || shown.length === MAX_VALUES) continue;
    const values: unknown[] = Array.isArray(value) ? value : [value];
    if (values.length === 0 || !values.every(isShort)) continue;
    shown.push(`${nameOf(name)}=${showControls(cutTo(MAX_VALUE, values.join(",")))}`);
  }
  return shown;
}

const isShort = (value: unknown): boolean =>
  value !== null && /^(?:string|number|boolean)$/.test(typeof value);

const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

/** A name as it can stand in a column. */
const nameOf = (text: string): string => showControls(cutTo(MAX_NAME, text));

function cutTo(limit: number, text: string): string {
  return text.length <= limit
    ? text
    : `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** A control character, or a mark that changes the direction of text. */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex -- controls are what it is about
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Words of strangers stand in errors: in a terminal, an escape sequence could clear it, or write another line of the log. */
function showControls(text: string): string {
  return text.replace(
    HIDDEN,
    (found) => `[U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/** A line that begins at the margin is always one of the log. */
const showLines = (text: string): string => text.split("\n").map(showControls).join("\n    ");
