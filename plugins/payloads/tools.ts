import { GatewayError, type PluginContext } from "propylon";
import { z } from "zod";
import type { FindOwn } from "./routes.ts";
import type { Store } from "./store.ts";

/** Name of the tool that reads a part of a payload. */
export const READ_TOOL = "payload_read";

/** Largest part that the tool returns in one go, in bytes. */
const MAX_PART = 64 * 1024;

/** How addresses of stored results begin. */
export const PREFIX = "payload://";

/** Lets owners read stored results: as resources, or in parts. */
export function registerTools(
  gateway: Pick<PluginContext, "tool" | "resource">,
  store: Store,
  findOwn: FindOwn,
): void {
  gateway.tool(READ_TOOL, {
    description:
      "Reads a part of a stored result. Results that are too large to be sent whole name their id.",
    input: z.object({
      id: z.string().describe("Id of the stored result."),
      offset: z.int().min(0).default(0).describe("First byte."),
      length: z.int().min(1).max(MAX_PART).default(16_384).describe("Bytes to read."),
    }),
    annotations: { readOnlyHint: true },
    run: async ({ id, offset, length }, call) => {
      const { size } = await findOwn(id, call.principal);
      const bytes = await store.slice(id, offset, offset + length);
      if (!bytes) throw gone();
      const { text, from, to } = readText(bytes, offset, offset + length >= size);
      return { text, offset: from, next: to < size ? to : null, size };
    },
  });
  gateway.resource("Stored result", {
    uriTemplate: `${PREFIX}{id}`,
    description: "A tool result that was too large to be sent whole.",
    read: async ({ id = "" }, call) => {
      const info = await findOwn(id, call.principal);
      const bytes = await store.slice(id, 0, info.size);
      if (!bytes) throw gone();
      return {
        uri: `${PREFIX}${id}`,
        mimeType: info.mimeType,
        text: Buffer.from(bytes).toString("utf8"),
      };
    },
  });
}

/** Deleted while it was being read. */
function gone(): GatewayError {
  return new GatewayError("not_found", "There is no such payload.");
}

/** The whole characters in a span of UTF-8: one that begins or ends inside a character leaves that to its neighbour. */
export function readText(
  bytes: Uint8Array,
  offset: number,
  isLast: boolean,
): { readonly text: string; readonly from: number; readonly to: number } {
  let start = 0;
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++;
  let end = bytes.length;
  if (!isLast) {
    let lead = end - 1;
    while (lead > start && (bytes[lead]! & 0xc0) === 0x80) lead--;
    const first = bytes[lead] ?? 0;
    const width = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    if (lead + width > end && lead > start) end = lead;
  }
  return {
    text: Buffer.from(bytes.subarray(start, end)).toString("utf8"),
    from: offset + start,
    to: offset + end,
  };
}
