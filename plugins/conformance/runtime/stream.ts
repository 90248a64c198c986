import { z } from "zod";
import {
  streamEventSchema,
  taskArtifactUpdateSchema,
  taskSchema,
  taskStatusUpdateSchema,
  type StreamEvent,
} from "propylon/contract";
import { Deviation, shown } from "../check.ts";
import { parsed } from "./exchange.ts";

/** A2A 0.3 tells events by `kind`, where 1.0 names the member. The contract leaves the shape open, so both count. */
const KINDS: Readonly<Record<string, readonly [keyof AnyEvent, z.ZodType]>> = {
  task: ["task", taskSchema],
  "status-update": ["statusUpdate", taskStatusUpdateSchema],
  "artifact-update": ["artifactUpdate", taskArtifactUpdateSchema],
};

type AnyEvent = {
  readonly [Name in "task" | "statusUpdate" | "artifactUpdate"]?: StreamEvent extends infer Event
    ? Event extends { [Key in Name]: infer Value }
      ? Value
      : never
    : never;
};

/**
 * The events of a stream, in order.
 * @throws {Deviation} for one that is none of the contract
 */
export function readEventStream(text: string): readonly AnyEvent[] {
  return dataOf(text).map((data) => {
    const event = eventOf(parsed(data));
    if (!event) throw new Deviation(`Not an event of a task: ${shown(data)}`);
    return event;
  });
}

/** The `data` of every event (HTML standard, section 9.2.6). */
function dataOf(text: string): readonly string[] {
  return text
    .replace(/^\uFEFF/, "")
    .replaceAll(/\r\n?/g, "\n")
    .split(/\n{2,}/)
    .map((block) =>
      block
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice("data:".length).replace(/^ /, ""))
        .join("\n"),
    )
    .filter((data) => data !== "");
}

function eventOf(value: unknown): AnyEvent | undefined {
  const named = streamEventSchema.safeParse(value);
  if (named.success) return named.data;
  const { data } = z.looseObject({ kind: z.string() }).safeParse(value);
  const [name, schema] = (data && Object.hasOwn(KINDS, data.kind) && KINDS[data.kind]) || [];
  if (!name || !schema?.safeParse(value).success) return undefined;
  return { [name]: value };
}
