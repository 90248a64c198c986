/** Answers `{ loop: "start" }` and `{ loop: "read" }` over IPC: how late the event loop was in between, in milliseconds. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks; the figures of an idle loop are as large, so they are taken off. */
const RESOLUTION = 1;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION });

process.on("message", ({ loop }) => {
  if (loop === "start") {
    delay.reset();
    delay.enable();
    process.send({});
  }
  if (loop === "read") {
    delay.disable();
    const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION);
    process.send({ p99: late(delay.percentile(99)), max: late(delay.max) });
  }
});
