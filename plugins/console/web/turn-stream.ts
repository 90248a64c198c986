import type { Progress } from "propylon";

/** What the tool of an agent answered. */
export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean;
}

/** An event of an answer. */
export type TurnEvent =
  | { readonly event: "progress"; readonly data: Progress }
  | { readonly event: "result"; readonly data: { readonly result: ToolResult } }
  | { readonly event: "error"; readonly data: { readonly error: { readonly message: string } } };

/** A result as a person reads it. */
export function textOf({ content = [], isError }: ToolResult): string {
  const text = content
    .map((block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`))
    .join("\n");
  return isError ? `Failed: ${text}` : text;
}
