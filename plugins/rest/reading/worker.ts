import { parentPort, workerData } from "node:worker_threads";
import { isGatewayError } from "propylon";
import { makeApi, type ApiSettings, type ReadApi } from "./api.ts";
import { readDocument } from "./document.ts";
import type { ApiTool } from "./tool.ts";

/** What the thread is to read. */
export interface ReadTask {
  readonly location: string;
  readonly settings: ApiSettings;
}

/** What the thread says; each waits for an answer: bytes to `read`, anything to the others. */
export type ReaderMessage =
  | { readonly kind: "read"; readonly url: string }
  | { readonly kind: "tools"; readonly tools: readonly ApiTool[] }
  | { readonly kind: "done"; readonly api: Omit<ReadApi, "tools"> }
  | { readonly kind: "broken"; readonly message: string; readonly hint: string | undefined };

/** Tools that the gateway takes over at a time, so that it is never busy with them for long. */
const BATCH = 100;

async function run({ location, settings }: ReadTask): Promise<void> {
  const document = await readDocument(new URL(location), async (url) => {
    return (await ask({ kind: "read", url: url.href })) as Uint8Array;
  });
  const { tools, ...api } = makeApi(document, new URL(location), settings);
  for (let at = 0; at < tools.length; at += BATCH)
    await ask({ kind: "tools", tools: tools.slice(at, at + BATCH) });
  await ask({ kind: "done", api });
}

function ask(message: ReaderMessage): Promise<unknown> {
  const answer = new Promise((resolve) => parentPort!.once("message", resolve));
  parentPort!.postMessage(message, []);
  return answer;
}

run(workerData as ReadTask).catch(async (error: unknown) => {
  if (!isGatewayError(error)) throw error;
  await ask({ kind: "broken", message: error.message, hint: error.hint });
});
