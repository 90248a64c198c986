import { randomUUID } from "node:crypto";
import { writeJson } from "propylon/kit";
import {
  Answer,
  GatewayError,
  isGatewayError,
  type Call,
  type Json,
  type Middleware,
  type PluginContext,
} from "propylon";
import { z } from "zod";
import type { PayloadsOptions } from "./options.ts";
import type { FindOwn } from "./routes.ts";
import type { Store } from "./store.ts";

type ResultOptions = NonNullable<PayloadsOptions["results"]>;

/** Tools of this plugin are those of the server of its name. */
const OWN_SERVER = "payloads";

/** Name of the tool that reads a part of a payload. */
const READ_TOOL = "payload_read";

/** Largest part that the tool returns in one go, in bytes. */
const MAX_PART = 64 * 1024;

const PREFIX = "payload://";

/** How much of the room one principal may have before further results come whole: nobody can take that of others. */
const SHARE = 0.25;

/** Why a result is not stored, and sent whole: no call fails for it. */
const NO_ROOM: ReadonlySet<string> = new Set(["unavailable", "too_large"]);

/** What results are stored with. */
export interface ResultStore {
  readonly store: Store;
  /** Told of every result that is sent whole, with the code of the reason. */
  readonly notStored: (code: string) => void;
  readonly findOwn: FindOwn;
}

/** Turns large tool results into payloads, and lets their owners read them as resources or in parts. */
export function storeResults(
  gateway: PluginContext<PayloadsOptions>,
  results: ResultStore,
  options: ResultOptions,
): void {
  const { store, findOwn } = results;
  gateway.use("dispatch", replaceLarge(results, options));
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

/** Innermost, so that everyone around it sees what the client gets. */
function replaceLarge({ store, notStored }: ResultStore, options: ResultOptions): Middleware {
  return async (call, next) => {
    const answer = await next(call);
    // A declared output must come back as declared, and the parts read from here must not become payloads again.
    if (call.method !== "tools/call" || call.server === OWN_SERVER || call.tool?.outputSchema)
      return answer;
    if (sizeOf(answer) <= options.above || answer.isRpcError || answer.isError) return answer;
    try {
      return await replace(call, answer.result!, store, options);
    } catch (error) {
      if (!isGatewayError(error) || !NO_ROOM.has(error.code)) throw error;
      notStored(error.code);
      return answer;
    }
  };
}

/** Upstream answers know their size; those of plugins have to be written out once. */
function sizeOf(answer: Answer): number {
  return answer.rawSize ?? Buffer.byteLength(writeJson(answer.result ?? {}));
}

async function replace(
  { principal, server, name }: Call,
  result: Json,
  store: Store,
  { maxPreview, ttl }: ResultOptions,
): Promise<Answer> {
  const text = textOf(result);
  const id = randomUUID();
  const info = await store.put(id, text ?? writeJson(result), {
    owner: principal.ref,
    mimeType: text === undefined ? "application/json" : "text/plain; charset=utf-8",
    ttl,
    share: SHARE,
  });
  const shown =
    text === undefined ? "" : readText(Buffer.from(text).subarray(0, maxPreview), 0, false).text;
  const note = `The result of ${name} has ${info.size} bytes and was stored. Read it with ${READ_TOOL}, id ${id}; it is kept until ${info.expiresAt}.`;
  return Answer.result({
    ...(result["_meta"] !== undefined && { _meta: result["_meta"] }),
    content: [
      ...(shown === "" ? [] : [{ type: "text", text: shown }]),
      { type: "text", text: note },
      {
        type: "resource_link",
        uri: `${PREFIX}${id}`,
        name: `${server}/${name}`,
        mimeType: info.mimeType,
        size: info.size,
      },
    ],
  });
}

/** The text of a result that is nothing but text. */
function textOf({ content, structuredContent }: Json): string | undefined {
  if (structuredContent !== undefined || !Array.isArray(content)) return undefined;
  const texts = content.map((item: Json) => (item["type"] === "text" ? item["text"] : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined;
}

/** The whole characters in a span of UTF-8: one that begins or ends inside a character leaves that to its neighbour. */
function readText(
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
