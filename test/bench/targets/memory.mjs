/** Answers `{ memory: true }` over IPC with what a target holds after garbage collection. Needs --expose-gc. */
process.on("message", (message) => void (message.memory && measure()));

async function measure() {
  // Twice, with a turn of the loop between: finalizers of the first run free more for the second.
  for (let round = 0; round < 3; round++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send({ heap: heapUsed, external, rss });
}
