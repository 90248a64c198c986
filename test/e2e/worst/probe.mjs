/**
 * Loaded into a gateway with `--import`: measures for how long its event loop is held, as CPU time of the main thread, because time
 * goes on as well while other programs have the processor. Who connects to PROBE gets what was measured since the last one did.
 */
import { createServer } from "node:net";
import { isMainThread } from "node:worker_threads";
import { usedTime } from "../../fixtures/process/used-time.mjs";

const EVERY_MS = 5;

if (isMainThread && process.env.PROBE) begin(process.env.PROBE);

function begin(path) {
  let last = usedTime();
  let held = 0;
  let total = 0;
  let rss = 0;
  const look = () => {
    const now = usedTime();
    held = Math.max(held, now - last);
    total += now - last;
    last = now;
    rss = Math.max(rss, process.memoryUsage.rss());
  };
  setInterval(look, EVERY_MS).unref();
  createServer((socket) => {
    look();
    socket.on("error", () => undefined).end(JSON.stringify({ held, total, rss }));
    held = 0;
    total = 0;
    rss = process.memoryUsage.rss();
  })
    .listen(path)
    .unref();
}
