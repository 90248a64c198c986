import type { Shaped } from "./shapes.ts";

/** Texts of one piece, written again and again. */
export function repeated(pieces: readonly string[]): readonly Shaped[] {
  return pieces.map((piece) => ({
    name: `${JSON.stringify(piece.slice(0, 20))} again and again`,
    make: (bytes) => Buffer.from(piece.repeat(Math.max(1, Math.floor(bytes / piece.length)))),
  }));
}

/** Texts of pieces that have a number each. */
export function numbered(name: string, piece: (count: number) => string): Shaped {
  return {
    name,
    make(bytes) {
      const pieces: string[] = [];
      for (let length = 0; length < bytes; length += pieces.at(-1)!.length)
        pieces.push(piece(pieces.length));
      return Buffer.from(pieces.join(""));
    },
  };
}

/** Forms, and queries, that are large in every way. */
export const FORM_SHAPES: readonly Shaped[] = [
  ...repeated(["&", "=", "a&", "a=1&", "a[]=1&", "%", "%41", "%E2%82", "+", ";", ",", "a.", "*"]),
  numbered("parameters of their own", (count) => `p${count}=1&`),
  { name: "a long value", make: (bytes) => Buffer.from(`token=${"a".repeat(bytes)}`) },
  { name: "a long name", make: (bytes) => Buffer.from(`${"a".repeat(bytes)}=1`) },
  {
    name: "a long code",
    make: (bytes) => Buffer.from(`grant_type=authorization_code&code=${"%00".repeat(bytes / 3)}`),
  },
];
