// @ts-check
// One command line after the other in one process, as propylonEach starts it: what each prints, and its exit code.

// By their addresses, since a clone is type-checked before anything is built.
const built = new URL("../../../dist/", import.meta.url);
/** @type {typeof import("../../../core/cli/main.ts")} */
const { main } = await import(new URL("core/cli/main.js", built).href);
/** @type {typeof import("../../../plugins/commands.ts")} */
const { COMMANDS } = await import(new URL("plugins/commands.js", built).href);

const streams = [process.stdout, process.stderr];
// A process of its own for each would have no more than a few.
for (const each of [process, ...streams]) each.setMaxListeners(0);

/** @type {string[][]} */
const all = JSON.parse(process.argv[2] ?? "[]");
for (const words of all) {
  const [stdout, stderr] = streams.map(capture);
  process.exitCode = 0;
  await main(words, COMMANDS);
  process.send?.({ code: process.exitCode, stdout: stdout?.(), stderr: stderr?.() });
}
process.exitCode = 0;

/**
 * Takes what is written from now on.
 * @param {NodeJS.WriteStream} stream
 * @returns gives back what was written, and the stream as it was
 */
function capture(stream) {
  const write = stream.write.bind(stream);
  let text = "";
  stream.write = (chunk) => {
    text += String(chunk);
    return true;
  };
  return () => {
    stream.write = write;
    return text;
  };
}
