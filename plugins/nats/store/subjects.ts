/** Slashes of a key that separate tokens of its subject: enough for lists by a prefix, and far from what servers take. */
const MAX_TOKENS = 8;
/** An empty part of a key. No other part begins with a "=" and a character that is not of an escape. */
const EMPTY = "=_";

/** Names of the streams of a deployment, and the subjects in them. */
export class Subjects {
  /** Stream of values and their parts. */
  readonly kvStream: string;
  /** Stream of logs and their parts. */
  readonly logStream: string;
  /** Stream of work that waits. */
  readonly queueStream: string;
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.kvStream = `${prefix}_kv`;
    this.logStream = `${prefix}_log`;
    this.queueStream = `${prefix}_queue`;
  }

  /** All of a stream. */
  get allValues(): string {
    return `${this.#prefix}.kv.>`;
  }

  get allLogs(): string {
    return `${this.#prefix}.log.>`;
  }

  get allQueued(): string {
    return `${this.#prefix}.queue.>`;
  }

  /** Work of a queue, by parts that keys may hold; of all of it with `>` as the last. */
  queued(queue: string, parts: readonly string[]): string {
    const tokens = parts.map((part) => (part === ">" ? part : encodePart(part)));
    return [this.#prefix, "queue", encodeToken(queue), ...tokens].join(".");
  }

  /** The parts of {@link queued}. */
  queuedParts(subject: string): readonly string[] {
    return subject.split(".").slice(3).map(decodePart);
  }

  /** What the server tells once it has stored something, without its body. */
  get toldValues(): { readonly src: string; readonly dest: string } {
    return { src: `${this.#prefix}.kv.v.>`, dest: `${this.#prefix}.kvc.>` };
  }

  get toldLogs(): { readonly src: string; readonly dest: string } {
    return { src: `${this.#prefix}.log.e.>`, dest: `${this.#prefix}.logc.>` };
  }

  value(bucket: string, key: string): string {
    return `${this.#prefix}.kv.v.${encodeToken(bucket)}.${encodeKey(key)}`;
  }

  /** Values of a bucket whose keys may begin so; all that do are among them. */
  values(bucket: string, prefix = ""): string {
    const tokens = prefix.split("/").slice(0, MAX_TOKENS).slice(0, -1).map(encodePart);
    return [this.#prefix, "kv", "v", encodeToken(bucket), ...tokens, ">"].join(".");
  }

  /** Changes of a bucket. */
  changes(bucket: string): string {
    return `${this.#prefix}.kvc.${encodeToken(bucket)}.>`;
  }

  /** The key of a value, by its subject or by that of its change. */
  keyOf(subject: string): string {
    const place = subject.startsWith(`${this.#prefix}.kvc.`) ? 3 : 4;
    return subject.split(".").slice(place).map(decodePart).join("/");
  }

  /** Entries of a log that were added so many at a time. */
  entries(log: string, count: number | "*"): string {
    return `${this.#prefix}.log.e.${encodeToken(log)}.${count}`;
  }

  /** Additions to a log. */
  additions(log: string): string {
    return `${this.#prefix}.logc.${encodeToken(log)}.>`;
  }

  /** The place of a log's first entry. */
  floor(log: string): string {
    return `${this.#prefix}.kv.f.${encodeToken(log)}`;
  }

  /** A part of a text that does not fit one message. */
  part(stream: string, id: string, index: number | ">"): string {
    const room = stream === this.kvStream ? "kv" : "log";
    return `${this.#prefix}.${room}.p.${id}.${index}`;
  }

  /** The id of a part, by its subject. */
  idOf(subject: string): string {
    return subject.split(".")[3] ?? "";
  }

  topic(topic: string): string {
    return `${this.#prefix}.topic.${encodeToken(topic)}`;
  }

  /** What a message of a stream is, by its subject. */
  kindOf(subject: string): "value" | "entry" | "part" | "floor" | undefined {
    const kind = subject.split(".")[2] ?? "";
    return ({ v: "value", e: "entry", p: "part", f: "floor" } as const)[kind];
  }
}

/** A text without slashes, dots, spaces and wildcards. */
function encodeToken(text: string): string {
  return text.replaceAll(/[^\x21-\x7e]|[=./*>]/g, escape);
}

function encodeKey(key: string): string {
  const parts = key.split("/");
  const rest = parts.slice(MAX_TOKENS - 1).join("/");
  const tokens = parts.length < MAX_TOKENS ? parts : [...parts.slice(0, MAX_TOKENS - 1), rest];
  return tokens.map(encodePart).join(".");
}

function encodePart(part: string): string {
  return part === "" ? EMPTY : encodeToken(part);
}

function decodePart(token: string): string {
  if (token === EMPTY) return "";
  return token.replaceAll(/=([0-9a-f]{2})/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function escape(character: string): string {
  return `=${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
