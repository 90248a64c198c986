// @ts-check
// Keeps a store in memory for the process that started it, over as many channels as that one opens.
import { EventEmitter } from "node:events";
import { MemoryDriver } from "../../../dist/core/store/memory.js";
import { WorkerChannel } from "../../../dist/core/workers/channel.js";
import { serveStore } from "../../../dist/core/workers/serve-store.js";

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
