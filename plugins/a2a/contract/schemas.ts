import { z } from "zod";
import { agentCardSchema } from "./card.ts";
import { manifestSchema } from "./manifest.ts";
import { sendMessageRequestSchema } from "./message.ts";
import { taskSchema } from "./task.ts";

const DOCUMENTS = {
  "send-message-request": ["SendMessageRequest", sendMessageRequestSchema],
  task: ["Task", taskSchema],
  "agent-card": ["AgentCard", agentCardSchema],
  "runtime-contract": ["Manifest runtime-contract.json", manifestSchema],
} as const;

/**
 * The JSON Schemas (draft 2020-12) of contract v1 by file name, made from the zod schemas, for runtimes in any language. They
 * describe what a reader must accept: members that are not known are allowed, what has a default may be missing.
 */
export function jsonSchemas(): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(DOCUMENTS).map(([name, [title, schema]]) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, { io: "input", override: dropFormat });
      const file = `${name}.schema.json`;
      return [file, { $schema, $id: file, title: `${title} of runtime contract v1`, ...rest }];
    }),
  );
}

/** zod's own name for "starts with" is no format of JSON Schema; the pattern beside it says the same. */
function dropFormat({ jsonSchema }: { readonly jsonSchema: { format?: string } }): void {
  if (jsonSchema.format === "starts_with") delete jsonSchema.format;
}
