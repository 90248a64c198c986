import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { program } from "#rest/reader";
import type { Catalogue, Tool } from "propylon";
import { Semaphore, usableEntries, makeCatalogue } from "propylon/kit";
import type { LeftOut } from "propylon/internal";
import type { ApiSettings, ReadApi } from "./reading/api.ts";
import { broken } from "./reading/references.ts";
import type { ApiTool } from "./reading/tool.ts";
import type { ReaderMessage, ReadTask } from "./reading/worker.ts";
import type { Texts } from "./texts.ts";

/** Memory of a thread that reads a document, in MiB: an honest one of 16 MiB takes half of it. */
const MAX_MEMORY = 512;
/** Documents that are read at a time. */
const turns = new Semaphore(2);

/** An API as the gateway uses it. */
export interface Api extends Omit<ReadApi, "tools" | "base"> {
  /** Where requests go. */
  readonly base: URL;
  /** By name. */
  readonly tools: ReadonlyMap<string, ApiTool>;
  /** Of these tools those that clients accept. */
  readonly catalogue: Catalogue;
  /** What is not in the catalogue, and why. */
  readonly leftOut: readonly LeftOut[];
  /** Hashes of the documents that it was read from, by URL. */
  readonly hashes: ReadonlyMap<string, string>;
}

/**
 * Reads a document and makes an API of it, in a thread of its own: a document of a few hundred kilobytes can take minutes, and
 * gigabytes. Ends at once with the signal.
 *
 * @throws {GatewayError} `invalid` for a document that cannot be used, `upstream_error` for one that cannot be read from now
 */
export async function readApi(
  location: URL,
  settings: ApiSettings,
  texts: Texts,
  signal: AbortSignal,
): Promise<Api> {
  const end = await turns.take(signal);
  const task: ReadTask = { location: location.href, settings };
  // It has no secrets, and neither flags nor loaders of the gateway.
  const worker = new Worker(program, {
    eval: true,
    name: "openapi",
    workerData: task,
    env: {},
    argv: [],
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY },
  });
  // Heard by code that waits for a message; while nobody does, as at the end, it would end the gateway.
  worker.on("error", () => {});
  try {
    const api = await converse(worker, texts, signal);
    // What is made of the lists behind it takes its time, too.
    await new Promise(setImmediate);
    return api;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_WORKER_OUT_OF_MEMORY")
      throw broken("The document takes too much memory to be read.", "Make it smaller.");
    throw error;
  } finally {
    await worker.terminate();
    end();
  }
}

async function converse(worker: Worker, texts: Texts, signal: AbortSignal): Promise<Api> {
  const tools: ApiTool[] = [];
  const usable: Tool[] = [];
  const leftOut: LeftOut[] = [];
  const hashes = new Map<string, string>();
  for (;;) {
    const [message] = (await once(worker, "message", { signal })) as [ReaderMessage];
    // Node hands on what a thread says within one turn for as long as the thread is quick to answer: all batches were one.
    await new Promise(setImmediate);
    if (message.kind === "broken") throw broken(message.message, message.hint);
    if (message.kind === "done") return { ...toApi(message.api, tools, usable), leftOut, hashes };
    if (message.kind === "tools") {
      // Each batch in its turn: to look through 15,000 at once takes as long as all the reading here.
      const batch = message.tools.map(({ tool }) => tool);
      usable.push(...(usableEntries("tools", batch, leftOut, tools.length) as Tool[]));
      tools.push(...message.tools);
      worker.postMessage("more", []);
      continue;
    }
    const bytes = await texts.get(new URL(message.url));
    hashes.set(message.url, texts.hashes.get(message.url)!);
    worker.postMessage(bytes, []);
  }
}

function toApi(
  { base, ...read }: Omit<ReadApi, "tools">,
  tools: readonly ApiTool[],
  usable: readonly Tool[],
): Omit<Api, "leftOut" | "hashes"> {
  const { description, title = "openapi", version = "0" } = read;
  return {
    ...read,
    base: new URL(base),
    tools: new Map(tools.map((each) => [each.tool.name, each])),
    catalogue: makeCatalogue({
      tools: usable,
      ...(description !== undefined && { instructions: description }),
      serverInfo: { name: title, version },
    }),
  };
}
