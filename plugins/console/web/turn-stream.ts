/** How far a call is. */
export interface Report {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What the tool of an agent answered. */
export interface ToolResult {
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean;
}

/** An event of an answer. */
export type TurnEvent =
  | { readonly event: "progress"; readonly data: Report }
  | { readonly event: "result"; readonly data: { readonly result: ToolResult } }
  | { readonly event: "error"; readonly data: { readonly error: { readonly message: string } } };

/** The events of an answer as they arrive. The gateway ends lines with a line feed and has one line of data. */
export async function* turnEvents(
  reader: ReadableStreamDefaultReader<string>,
): AsyncGenerator<TurnEvent> {
  let text = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const frames = (text + read.value).split("\n\n");
    text = frames.pop()!;
    for (const frame of frames) {
      const event = /^event: (.*)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (event !== undefined && data !== undefined)
        yield { event, data: JSON.parse(data) as unknown } as TurnEvent;
    }
  }
}

/** A result as a person reads it. */
export function textOf({ content = [], isError }: ToolResult): string {
  const text = content
    .map((block) => (block.type === "text" ? (block.text ?? "") : `[${block.type}]`))
    .join("\n");
  return isError ? `Failed: ${text}` : text;
}
