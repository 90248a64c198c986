// @ts-check
import { once } from "node:events";
import { createServer } from "node:http";
import { availableParallelism } from "node:os";
import { json } from "node:stream/consumers";

/**
 * Clients for the suite, all in this process.
 *
 * @returns {Promise<{ command: string, close: () => void }>} `command` is what the suite starts for a scenario
 */
export async function startClients() {
  // Not before everything is built.
  const { runClient } = await import("./client.mjs");
  const { Semaphore } = await import("propylon/kit");
  // The suite starts all at once.
  const turns = new Semaphore(2 * availableParallelism());
  /** @type {(...exchange: Parameters<import("node:http").RequestListener>) => Promise<void>} */
  const serve = async (request, response) => {
    const end = new AbortController();
    // The suite has no patience any more.
    response.once("close", () => end.abort());
    const done = await turns.take(end.signal).catch(() => undefined);
    if (!done) return;
    try {
      const { scenario, url, context } = /** @type {any} */ (await json(request));
      await runClient(scenario, url, context, end.signal);
      response.end();
    } catch (error) {
      response.writeHead(500).end(String(error));
    } finally {
      done();
    }
  };
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { command: `node ask.mjs http://127.0.0.1:${port}`, close: () => server.close() };
}
