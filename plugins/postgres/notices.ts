/** Longest piece of a message, in UTF-16 code units: none needs more than three bytes, and a notice has 7,999. */
const PIECE = 2_400;

/** What a notice tells: a key of a bucket, a log with new entries, or a piece of a message. */
export type Notice =
  | { readonly kind: "kv" | "log"; readonly name: string; readonly text: string }
  | {
      readonly kind: "topic";
      readonly name: string;
      readonly text: string;
      readonly isFirst: boolean;
      readonly isLast: boolean;
    };

/** The notice of a change under a key; never with the value. */
export function kvNotice(bucket: string, key: string): string {
  return `kv ${bucket} ${key}`;
}

/** The notice of new entries. */
export function logNotice(log: string): string {
  return `log ${log} `;
}

/** The notices of a message, in order. Each differs: equal ones of one transaction are told once. */
export function messageNotices(topic: string, message: string): readonly string[] {
  const pieces = piecesOf(message);
  return pieces.map((piece, index) => `topic ${topic} ${index + 1}/${pieces.length} ${piece}`);
}

function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let begin = 0; begin < text.length || begin === 0;) {
    const end = begin + PIECE;
    // A pair of surrogates is one character, which no piece can have half of.
    const isSplit = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && end < text.length;
    pieces.push(text.slice(begin, isSplit ? end - 1 : end));
    begin = isSplit ? end - 1 : end;
  }
  return pieces;
}

const NOTICE = /^(kv|log|topic) (\S+) (.*)$/s;
const PLACE = /^(\d+)\/(\d+) (.*)$/s;

/** @returns `undefined` for what no gateway wrote */
export function readNotice(payload: string): Notice | undefined {
  const [, kind, name = "", text = ""] = NOTICE.exec(payload) ?? [];
  if (kind === "kv" || kind === "log") return { kind, name, text };
  const [, place, count, piece] = (kind && PLACE.exec(text)) || [];
  if (piece === undefined) return undefined;
  return { kind: "topic", name, text: piece, isFirst: place === "1", isLast: place === count };
}
