// npm start: the playground gateway on 127.0.0.1:8080, in a fresh clone too. PORT=9000 npm start picks another port.
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build, install, root } from "./ready.mjs";

install();
build();
process.env.MONITOR_PORT = await startMonitor("0");
// In this process, so that a signal meets the gateway once, however npm and the terminal pass it on.
process.argv.splice(2, 0, "start", join(root, "playground/gateway.yaml"), "--watch");
await import("../dist/plugins/cli.js");

/**
 * Starts the second server of the playground, @modelcontextprotocol/server-system-monitor, over HTTP on a free port. When it
 * dies it comes back on the same port, and the gateway connects again. Returns the port.
 */
async function startMonitor(port) {
  const child = fork(findMonitor(), {
    execArgv: ["--import", new URL("./loopback.mjs", import.meta.url).href],
    env: { ...process.env, PORT: port },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const gone = once(child, "exit");
  const [message] = await Promise.race([once(child, "message"), gone.then(() => [])]);
  const found = message ? String(message.port) : port;
  void gone.then(() => setTimeout(() => void startMonitor(found), 1_000).unref());
  // Neither the child nor its channel keeps the gateway from ending; it ends when the channel closes.
  child.unref();
  child.channel?.unref();
  return found;
}

/** Its package exports no file that runs, so it is looked for where npm puts it. */
function findMonitor() {
  const path = "node_modules/@modelcontextprotocol/server-system-monitor/dist/index.js";
  return [join(root, "playground", path), join(root, path)].find((file) => existsSync(file));
}
