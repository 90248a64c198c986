export const GROUPS: Readonly<Record<"batteries" | (string & {}), readonly string[]>>;
export function measure(room: string): { files: number; lines: number; code: number };
export function report(): readonly {
  readonly group: string;
  readonly files: number;
  readonly lines: number;
  readonly code: number;
}[];
