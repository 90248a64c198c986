import { randomUUID } from "node:crypto";
import { writeJson } from "propylon/kit";
import {
  Answer,
  isGatewayError,
  type Call,
  type Json,
  type Middleware,
  type PluginContext,
} from "propylon";
import type { PayloadsOptions } from "./options.ts";
import type { FindOwn } from "./routes.ts";
import type { Store } from "./store.ts";
import { PREFIX, READ_TOOL, readText, registerTools } from "./tools.ts";

type ResultOptions = NonNullable<PayloadsOptions["results"]>;

/** Tools of this plugin are those of the server of its name. */
const OWN_SERVER = "payloads";

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
  registerTools(gateway, store, findOwn);
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
