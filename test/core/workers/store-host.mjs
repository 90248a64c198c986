// @ts-check
// Keeps a store in memory for the process that started it, over as many channels as that one opens.
import { EventEmitter } from "node:events";

/**
 * What was built: a fresh clone is checked before anything is.
 * @param {string} path
 */
const load = (path) => import(new URL(`../../../dist/modules/core/${path}`, import.meta.url).href);
const { MemoryDriver } = await load("store/memory.js");
const { WorkerChannel } = await load("workers/channel.js");
const { serveStore } = await load("workers/serve-store.js");

const driver = new MemoryDriver();
/** @type {Map<number, EventEmitter>} */
const ports = new Map();

/** @param {number} number */
function open(number) {
  const port = new EventEmitter();
  ports.set(number, port);
  const channel = new WorkerChannel(
    Object.assign(port, {
      send: (/** @type {string} */ text, /** @type {(error: Error | null) => void} */ sent) =>
        process.send?.({ port: number, text }, undefined, undefined, sent),
    }),
  );
  serveStore(driver, channel);
  return port;
}

process.on("message", (/** @type {{ port: number, text?: string }} */ { port, text }) => {
  const there = ports.get(port) ?? open(port);
  if (text === undefined) there.emit("disconnect");
  else there.emit("message", text);
});
process.on("disconnect", () => process.exit(0));
