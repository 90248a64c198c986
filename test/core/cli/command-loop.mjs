// @ts-check
// One command line after the other in one process, as CommandLoop starts it: what each prints, and its exit code.
import { fileURLToPath } from "node:url";

/** The program itself. What it imports stays; another name makes it run once more. */
const program = new URL("../../../dist/plugins/cli.js", import.meta.url);

const streams = [process.stdout, process.stderr];
// A process of its own for each would have no more than a few.
for (const each of [process, ...streams]) each.setMaxListeners(0);

let count = 0;
/** @type {Promise<void>} */
let turn = Promise.resolve();
process.on("message", (/** @type {Line | "end"} */ line) => {
  // Without the channel nothing holds this process any more.
  turn = turn.then(() => (line === "end" ? process.disconnect?.() : run(line)));
});

/**
 * @typedef {{ words: string[], cwd?: string, env: Record<string, string> }} Line
 * @param {Line} line
 */
async function run({ words, cwd, env }) {
  if (cwd !== undefined) process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  const [stdout, stderr] = streams.map(capture);
  process.exitCode = 0;
  process.argv = [process.execPath, fileURLToPath(program), ...words];
  count += 1;
  await import(`${program.href}?${count}`);
  process.send?.({ code: process.exitCode, stdout: stdout?.(), stderr: stderr?.() });
  process.exitCode = 0;
}

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
